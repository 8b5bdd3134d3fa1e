import type { Tool } from "@hearth-and-keep/engine";
import { collectUntil, nextOf, peek, readUntil, skipSpace } from "./splitting/read-text.ts";
import type { Piece, Scanner, Steps } from "./splitting/scanner.ts";
import { type AnswerEvent, type Emit, splitEvents, textDelta } from "./splitting/split-events.ts";
import { CallWriter } from "./tool-calls/call-writer.ts";
import { readJsonText } from "./tool-calls/json-text.ts";

const bodyStart = "<|message|>";
const messageEnds = ["<|end|>", "<|return|>", "<|call|>"];
const headingStarts = ["<|start|>", "<|channel|>", " to=", "to="];

/** The format of gpt-oss, in which every message says in a heading which channel and which tool it is for. */
export function isHarmony(template: string): boolean {
  return template.includes("<|channel|>") && template.includes(bodyStart) && template.includes("<|call|>");
}

/**
 * Splits thinking, text and calls in one step, because here all three are messages of the same shape:
 *
 *   [<|start|>assistant] [to=functions.name] <|channel|>name [to=functions.name] … <|message|> body <|end|>
 *
 * The channel `analysis` is thinking, a message to a function is a call, everything else is visible. An answer
 * under a grammar comes without headings, so text where a heading would stand is visible text.
 */
export function splitHarmony(
  events: AsyncIterable<AnswerEvent>,
  tools: readonly Tool[],
): AsyncGenerator<AnswerEvent> {
  return splitEvents(events, function* readMessages(scanner, emit) {
    const writer = new CallWriter(emit, tools);
    while ((yield* peek(scanner)) !== "") yield* readMessage(scanner, writer, emit);
  });
}

function* readMessage(scanner: Scanner, writer: CallWriter, emit: Emit): Steps {
  const start = yield* nextOf(scanner, headingStarts);
  const isCutHeading = headingStarts.some((text) => text.startsWith(scanner.unread));
  if (start === undefined && isCutHeading && scanner.endedBy === "length") {
    scanner.take(scanner.unread.length);
    return;
  }
  if (start === undefined) return yield* readBody(scanner, (piece) => emit(textDelta(piece)));
  const heading = yield* collectUntil(scanner, [bodyStart]);
  if (heading.marker === undefined) return;
  scanner.take(bodyStart.length);
  const recipient = /\bto=(?<name>[^\s<]+)/u.exec(heading.text)?.groups?.["name"];
  const channel = /<\|channel\|>(?<name>\w+)/u.exec(heading.text)?.groups?.["name"];
  if (recipient !== undefined)
    return yield* readCall(scanner, writer, recipient.replace(/^functions\./u, ""));
  if (channel !== "analysis") return yield* readBody(scanner, (piece) => emit(textDelta(piece)));
  yield* skipSpace(scanner);
  yield* readBody(scanner, ({ text }) => emit({ type: "reasoning-delta", text }));
}

function* readBody(scanner: Scanner, onPiece: (piece: Piece) => void): Steps {
  const plan = { markers: [...messageEnds, "<|start|>"], heldAtEnd: "drop-when-cut" } as const;
  const marker = yield* readUntil(scanner, plan, onPiece);
  // The beginning of the next message is left to its heading.
  if (marker !== undefined && marker !== "<|start|>") scanner.take(marker.length);
}

function* readCall(scanner: Scanner, writer: CallWriter, name: string): Steps {
  yield* skipSpace(scanner);
  writer.start(name, undefined);
  let written = "";
  const isObject = (yield* peek(scanner)) === "{";
  const isWhole =
    isObject &&
    (yield* readJsonText(scanner, (text) => {
      written += text;
      writer.write(text);
    }));
  const rest = yield* collectUntil(scanner, [...messageEnds, "<|start|>"]);
  if (rest.marker !== undefined && rest.marker !== "<|start|>") scanner.take(rest.marker.length);
  if (isWhole) writer.end();
  else
    writer.fail(isObject || scanner.endedBy === "length" ? "unfinished" : "malformed", written + rest.text);
}
