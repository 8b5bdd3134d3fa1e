/**
 * @module
 * Parses tool calls from streamed text, in the formats of the common model families. Each format is an entry in
 * `formats.ts`: its markers and one of a few parsers. A model's format is detected from its chat template.
 * Guarantees that no marker becomes visible, and that the arguments of a call are the JSON text of an object: verbatim
 * if the model wrote one, otherwise converted or repaired. Imported by `generation/` only.
 */
import type { Tool } from "@hearth-and-keep/engine";
import { collectUntil, peek, readUntil, skipWhitespace, takeLiteral } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import { type Emit, type SplitEvent, splitEvents, textDelta } from "../stream-parser/split-events.ts";
import { CallWriter } from "./call-writer.ts";
import { takeFence, takeFenceEnd } from "./code-fences.ts";
import { completeCall, failUnfinished } from "./complete-call.ts";
import type { ToolCallFormat } from "./formats.ts";
import { jsonShape, readJsonCalls } from "./json-calls.ts";

export type ToolCallPlan = { readonly format: ToolCallFormat; readonly tools: readonly Tool[] };

type CallContext = { readonly format: ToolCallFormat; readonly writer: CallWriter; readonly emit: Emit };

export async function* splitToolCalls(
  events: AsyncIterable<SplitEvent>,
  { format, tools }: ToolCallPlan,
): AsyncGenerator<SplitEvent> {
  let writer: CallWriter | undefined;
  const endMarkers = [...format.hidden, ...(format.closing === undefined ? [] : [format.closing])];
  yield* splitEvents(events, function* readOutput(scanner, emit) {
    // Calls are numbered across the whole output, even if thinking separates them.
    writer ??= new CallWriter(emit, { tools, endMarkers });
    const context = { format, writer, emit };
    if (format.startsOpen === true) yield* readBlock(scanner, context);
    if (format.acceptsUnmarkedJson === true) yield* readUnmarkedCalls(scanner, context);
    yield* readMarkedCalls(scanner, context);
  });
}

function* readMarkedCalls(scanner: Scanner, context: CallContext): ParserSteps {
  const { format, emit } = context;
  let hasText = false;
  let isAfterCall = context.writer.count > 0;
  for (;;) {
    // Whitespace between calls, and between a call and the first text, is insignificant.
    if (isAfterCall && !hasText) yield* skipWhitespace(scanner);
    const search = {
      markers: [...format.openings, ...format.hidden],
      trimsBeforeMarker: true,
      trimsAtEnd: isAfterCall,
      partialMarkerAtEnd: "drop-if-truncated",
    } as const;
    const marker = yield* readUntil(scanner, search, (chunk) => {
      hasText = true;
      emit(textDelta(chunk));
    });
    if (marker === undefined) return;
    scanner.take(marker.length);
    isAfterCall = true;
    if (format.openings.includes(marker)) yield* readBlock(scanner, context);
  }
}

/**
 * Reads what follows an opening marker. What cannot be read as a call is text without its marker. A call that the
 * token limit cut fails; any other is completed.
 */
function* readBlock(scanner: Scanner, { format, writer }: CallContext): ParserSteps {
  scanner.startRecording();
  const calls = writer.count;
  const hasFence = yield* takeFence(scanner);
  const outcome = yield* format.read(scanner, writer);
  if (outcome === "other") yield* collectUntil(scanner, [...format.openings, ...format.hidden]);
  if (outcome !== "complete") completeCall(scanner, writer, writer.count > calls);
  scanner.stopRecording();
  if (hasFence) yield* takeFenceEnd(scanner);
  if (outcome === "complete" && format.closing !== undefined) yield* takeClosing(scanner, format.closing);
}

function* takeClosing(scanner: Scanner, closing: string): ParserSteps {
  scanner.startRecording();
  yield* skipWhitespace(scanner);
  if (!(yield* takeLiteral(scanner, closing)) && scanner.unread !== "") scanner.rewind();
  scanner.stopRecording();
}

/** Calls without markers are recognized only at the start of the output; anything else there is text. */
function* readUnmarkedCalls(scanner: Scanner, { writer }: CallContext): ParserSteps {
  for (;;) {
    scanner.startRecording();
    const calls = writer.count;
    yield* skipWhitespace(scanner);
    if (calls > 0 && /^[;,]/u.test(yield* peek(scanner))) scanner.take(1);
    const hasFence = yield* takeFence(scanner);
    yield* skipWhitespace(scanner);
    const next = yield* peek(scanner);
    // A separator with nothing after it is not text.
    if (next === "" && calls > 0) return scanner.stopRecording();
    if (next !== "{" && next !== "[") return scanner.rewind();
    const outcome = yield* readJsonCalls(scanner, { writer, shape: { ...jsonShape, isUnmarked: true } });
    if (outcome !== "complete") {
      const isTruncated = outcome === "unfinished" && scanner.endedBy === "length";
      if (!isTruncated && writer.count === calls) return scanner.rewind();
      if (isTruncated) failUnfinished(scanner, writer);
      else if (writer.isOpen) writer.end();
      return scanner.stopRecording();
    }
    scanner.stopRecording();
    if (hasFence) yield* takeFenceEnd(scanner);
  }
}
