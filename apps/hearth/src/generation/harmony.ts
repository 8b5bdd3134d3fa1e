import type { Tool } from "@hearth-and-keep/engine";
import { collectUntil, peek, peekLiteral, readUntil, skipWhitespace } from "./stream-parser/read-text.ts";
import type { ParserSteps, Scanner, TextChunk } from "./stream-parser/scanner.ts";
import { type Emit, type SplitEvent, splitEvents, textDelta } from "./stream-parser/split-events.ts";
import { CallWriter } from "./tool-calls/call-writer.ts";
import { readJsonText } from "./tool-calls/json-text.ts";

const bodyStart = "<|message|>";
const messageEnds = ["<|end|>", "<|return|>", "<|call|>"];
const headerStarts = ["<|start|>", "<|channel|>", " to=", "to="];

/** The format of gpt-oss: every message has a header with its channel and, for a call, its tool. */
export function isHarmony(template: string): boolean {
  return template.includes("<|channel|>") && template.includes(bodyStart) && template.includes("<|call|>");
}

/**
 * Splits thinking, text and calls in one stage, because all three are messages of the same form:
 *
 *   [<|start|>assistant] [to=functions.name] <|channel|>name [to=functions.name] … <|message|> body <|end|>
 *
 * The channel `analysis` is thinking, a message to a function is a call, everything else is visible. Constrained output
 * has no headers, so text in place of a header is visible.
 */
export function splitHarmony(
  events: AsyncIterable<SplitEvent>,
  tools: readonly Tool[],
): AsyncGenerator<SplitEvent> {
  return splitEvents(events, function* readMessages(scanner, emit) {
    const writer = new CallWriter(emit, tools);
    while ((yield* peek(scanner)) !== "") yield* readMessage(scanner, writer, emit);
  });
}

function* readMessage(scanner: Scanner, writer: CallWriter, emit: Emit): ParserSteps {
  const start = yield* peekLiteral(scanner, headerStarts);
  const isTruncatedHeader = headerStarts.some((text) => text.startsWith(scanner.unread));
  if (start === undefined && isTruncatedHeader && scanner.endedBy === "length") {
    scanner.take(scanner.unread.length);
    return;
  }
  if (start === undefined) return yield* readBody(scanner, (chunk) => emit(textDelta(chunk)));
  const header = yield* collectUntil(scanner, [bodyStart]);
  if (header.marker === undefined) return;
  scanner.take(bodyStart.length);
  const recipient = /\bto=(?<name>[^\s<]+)/u.exec(header.text)?.groups?.["name"];
  const channel = /<\|channel\|>(?<name>\w+)/u.exec(header.text)?.groups?.["name"];
  if (recipient !== undefined)
    return yield* readCall(scanner, writer, recipient.replace(/^functions\./u, ""));
  if (channel !== "analysis") return yield* readBody(scanner, (chunk) => emit(textDelta(chunk)));
  yield* skipWhitespace(scanner);
  yield* readBody(scanner, ({ text }) => emit({ type: "reasoning-delta", text }));
}

function* readBody(scanner: Scanner, onChunk: (chunk: TextChunk) => void): ParserSteps {
  const search = { markers: [...messageEnds, "<|start|>"], partialMarkerAtEnd: "drop-if-truncated" } as const;
  const marker = yield* readUntil(scanner, search, onChunk);
  // The start of the next message belongs to its header.
  if (marker !== undefined && marker !== "<|start|>") scanner.take(marker.length);
}

function* readCall(scanner: Scanner, writer: CallWriter, name: string): ParserSteps {
  yield* skipWhitespace(scanner);
  writer.start(name, undefined);
  let written = "";
  const isObject = (yield* peek(scanner)) === "{";
  const isComplete =
    isObject &&
    (yield* readJsonText(scanner, (text) => {
      written += text;
      writer.write(text);
    }));
  const rest = yield* collectUntil(scanner, [...messageEnds, "<|start|>"]);
  if (rest.marker !== undefined && rest.marker !== "<|start|>") scanner.take(rest.marker.length);
  if (isComplete) writer.end();
  else
    writer.fail(isObject || scanner.endedBy === "length" ? "unfinished" : "malformed", written + rest.text);
}
