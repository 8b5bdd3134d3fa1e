/**
 * @module
 * Parses tool calls from streamed text, in the formats of the common model families. Each format is an entry in
 * `formats.ts`: its markers and one of a few parsers. A model's format is detected from its chat template.
 * Guarantees that text after an opening marker never becomes visible, and that arguments are passed on verbatim, or
 * converted to JSON for families that do not write JSON. Imported by `generation/` only.
 */
import type { Tool } from "@hearth-and-keep/engine";
import { collectUntil, peek, readUntil, skipWhitespace, takeLiteral } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import { type Emit, type SplitEvent, splitEvents, textDelta } from "../stream-parser/split-events.ts";
import { CallWriter } from "./call-writer.ts";
import { jsonShape, type ToolCallFormat } from "./formats.ts";
import { readJsonCalls } from "./json-calls.ts";

export type ToolCallPlan = { readonly format: ToolCallFormat; readonly tools: readonly Tool[] };

type CallContext = { readonly format: ToolCallFormat; readonly writer: CallWriter; readonly emit: Emit };

export async function* splitToolCalls(
  events: AsyncIterable<SplitEvent>,
  { format, tools }: ToolCallPlan,
): AsyncGenerator<SplitEvent> {
  let writer: CallWriter | undefined;
  yield* splitEvents(events, function* readOutput(scanner, emit) {
    // Calls are numbered across the whole output, even if thinking separates them.
    writer ??= new CallWriter(emit, tools);
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

/** Reads what follows an opening marker. Whatever it is, it does not become visible text. */
function* readBlock(scanner: Scanner, { format, writer }: CallContext): ParserSteps {
  scanner.startRecording();
  const outcome = yield* format.read(scanner, writer);
  if (outcome === "other") yield* collectUntil(scanner, [...format.openings, ...format.hidden]);
  const isTruncated = outcome === "unfinished" || (outcome === "other" && scanner.endedBy === "length");
  if (outcome !== "complete") writer.fail(isTruncated ? "unfinished" : "malformed", scanner.recorded);
  scanner.stopRecording();
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
    yield* skipWhitespace(scanner);
    const next = yield* peek(scanner);
    // A separator with nothing after it is not text.
    if (next === "" && calls > 0) return scanner.stopRecording();
    if (next !== "{" && next !== "[") return scanner.rewind();
    const outcome = yield* readJsonCalls(scanner, { writer, shape: { ...jsonShape, isUnmarked: true } });
    if (outcome !== "complete") {
      const isTruncated = outcome === "unfinished" && (writer.count > calls || scanner.endedBy === "length");
      if (!isTruncated && writer.count === calls) return scanner.rewind();
      writer.fail(isTruncated ? "unfinished" : "malformed", scanner.recorded);
      return scanner.stopRecording();
    }
    scanner.stopRecording();
  }
}
