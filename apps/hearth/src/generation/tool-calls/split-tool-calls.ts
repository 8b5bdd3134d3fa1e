/**
 * @module
 * Tool calls recognised in raw text while it streams, for the formats of the common model families. A format is
 * a row of `formats.ts`: the marks, and one of a few readers. Which one a model writes is read off its template.
 * Promises that text behind a mark never becomes visible, and that the arguments told are the text as written,
 * or, where a family does not write JSON, that text as JSON.
 * Imported by `generation/` only.
 */
import type { Tool } from "@hearth-and-keep/engine";
import { collectUntil, peek, readUntil, skipSpace, takeLiteral } from "../splitting/read-text.ts";
import type { Scanner, Steps } from "../splitting/scanner.ts";
import { type AnswerEvent, type Emit, splitEvents, textDelta } from "../splitting/split-events.ts";
import { CallWriter } from "./call-writer.ts";
import { jsonShape, type ToolCallFormat } from "./formats.ts";
import { readJsonCalls } from "./json-calls.ts";

export type ToolCallPlan = { readonly format: ToolCallFormat; readonly tools: readonly Tool[] };

type Parts = { readonly format: ToolCallFormat; readonly writer: CallWriter; readonly emit: Emit };

export async function* splitToolCalls(
  events: AsyncIterable<AnswerEvent>,
  { format, tools }: ToolCallPlan,
): AsyncGenerator<AnswerEvent> {
  let writer: CallWriter | undefined;
  yield* splitEvents(events, function* readAnswer(scanner, emit) {
    // Calls are counted over the whole answer, also when thinking stands between two of them.
    writer ??= new CallWriter(emit, tools);
    const parts = { format, writer, emit };
    if (format.startsOpen === true) yield* readBlock(scanner, parts);
    if (format.readsBareJson === true) yield* readBareCalls(scanner, parts);
    yield* readMarkedCalls(scanner, parts);
  });
}

function* readMarkedCalls(scanner: Scanner, parts: Parts): Steps {
  const { format, emit } = parts;
  let hasText = false;
  let isBehindCall = parts.writer.count > 0;
  for (;;) {
    // Between calls, and between a call and the first text, white space says nothing.
    if (isBehindCall && !hasText) yield* skipSpace(scanner);
    const plan = {
      markers: [...format.openings, ...format.hidden],
      dropsSpaceBefore: true,
      dropsSpaceAtEnd: isBehindCall,
      heldAtEnd: "drop-when-cut",
    } as const;
    const marker = yield* readUntil(scanner, plan, (piece) => {
      hasText = true;
      emit(textDelta(piece));
    });
    if (marker === undefined) return;
    scanner.take(marker.length);
    isBehindCall = true;
    if (format.openings.includes(marker)) yield* readBlock(scanner, parts);
  }
}

/** Reads what stands behind an opening. Whatever it is, it does not become visible text. */
function* readBlock(scanner: Scanner, { format, writer }: Parts): Steps {
  scanner.remember();
  const outcome = yield* format.read(scanner, writer);
  if (outcome === "other") yield* collectUntil(scanner, [...format.openings, ...format.hidden]);
  const isCut = outcome === "unfinished" || (outcome === "other" && scanner.endedBy === "length");
  if (outcome !== "whole") writer.fail(isCut ? "unfinished" : "malformed", scanner.remembered);
  scanner.forget();
  if (outcome === "whole" && format.closing !== undefined) yield* takeClosing(scanner, format.closing);
}

function* takeClosing(scanner: Scanner, closing: string): Steps {
  scanner.remember();
  yield* skipSpace(scanner);
  if (!(yield* takeLiteral(scanner, closing)) && scanner.unread !== "") scanner.rewind();
  scanner.forget();
}

/** Calls without any mark stand at the beginning, one after another; anything else there is text. */
function* readBareCalls(scanner: Scanner, { writer }: Parts): Steps {
  for (;;) {
    scanner.remember();
    const calls = writer.count;
    yield* skipSpace(scanner);
    if (calls > 0 && /^[;,]/u.test(yield* peek(scanner))) scanner.take(1);
    yield* skipSpace(scanner);
    const next = yield* peek(scanner);
    // A separator with nothing behind it is no text.
    if (next === "" && calls > 0) return scanner.forget();
    if (next !== "{" && next !== "[") return scanner.rewind();
    const outcome = yield* readJsonCalls(scanner, { writer, shape: { ...jsonShape, isUnmarked: true } });
    if (outcome !== "whole") {
      const isCut = outcome === "unfinished" && (writer.count > calls || scanner.endedBy === "length");
      if (!isCut && writer.count === calls) return scanner.rewind();
      writer.fail(isCut ? "unfinished" : "malformed", scanner.remembered);
      return scanner.forget();
    }
    scanner.forget();
  }
}
