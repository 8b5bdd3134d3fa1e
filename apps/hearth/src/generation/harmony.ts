import type { Tool } from "@hearth-and-keep/engine";
import { messageStart, readMessageBody, readMessageHeader } from "./stream-parser/message-body.ts";
import { collectUntil, peek, skipWhitespace } from "./stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "./stream-parser/scanner.ts";
import { type Emit, type SplitEvent, splitEvents, textDelta } from "./stream-parser/split-events.ts";
import { CallWriter } from "./tool-calls/call-writer.ts";
import { takeFence } from "./tool-calls/code-fences.ts";

const bodyStart = "<|message|>";
const messageEnds = ["<|end|>", "<|return|>", "<|call|>"];
const markers = { headerStarts: [messageStart, "<|channel|>", " to=", "to="], bodyStart, messageEnds };

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
    const writer = new CallWriter(emit, { tools, endMarkers: messageEnds });
    while ((yield* peek(scanner)) !== "") yield* readMessage(scanner, writer, emit);
  });
}

/**
 * What ends the thinking in which raw output stops; undefined if it does not stop in thinking. Only the channel
 * `commentary` has calls and visible text, so that the model still has the choice if there are tools.
 */
export function closeHarmonyThinking(output: string, hasTools: boolean): string | undefined {
  const message = output.slice(Math.max(0, output.lastIndexOf("<|channel|>")));
  const isThinking = /^<\|channel\|>analysis\b/u.test(message) && message.includes(bodyStart);
  if (!isThinking || messageEnds.some((end) => message.includes(end))) return undefined;
  const channel = hasTools ? "commentary" : `final${bodyStart}`;
  return `<|end|>${messageStart}assistant<|channel|>${channel}`;
}

function* readMessage(scanner: Scanner, writer: CallWriter, emit: Emit): ParserSteps {
  const header = yield* readMessageHeader(scanner, markers, emit);
  if (header === undefined) return;
  if (header.marker === undefined) return;
  scanner.take(bodyStart.length);
  const recipient = /\bto=(?<name>[^\s<]+)/u.exec(header.text)?.groups?.["name"];
  const channel = /<\|channel\|>(?<name>\w+)/u.exec(header.text)?.groups?.["name"];
  if (recipient !== undefined) return yield* readCall(scanner, writer, recipient);
  if (channel !== "analysis")
    return yield* readMessageBody(scanner, messageEnds, (chunk) => emit(textDelta(chunk)));
  yield* skipWhitespace(scanner);
  yield* readMessageBody(scanner, messageEnds, ({ text }) => emit({ type: "reasoning-delta", text }));
}

function* readCall(scanner: Scanner, writer: CallWriter, name: string): ParserSteps {
  scanner.startRecording();
  yield* takeFence(scanner);
  yield* skipWhitespace(scanner);
  const isObject = (yield* peek(scanner)) === "{";
  if (isObject) writer.start(name, undefined);
  const isComplete = isObject && (yield* writer.readArguments(scanner, true));
  const rest = yield* collectUntil(scanner, [...messageEnds, messageStart]);
  const { recorded } = scanner;
  scanner.stopRecording();
  if (rest.marker !== undefined && rest.marker !== messageStart) scanner.take(rest.marker.length);
  const isTruncated = rest.marker === undefined && scanner.endedBy === "length";
  if (isTruncated && !isComplete) writer.fail("unfinished", recorded);
  else if (isObject) writer.end();
  else if (recorded.trim() !== "") writer.fail("malformed", recorded);
  else {
    writer.start(name, undefined);
    writer.end();
  }
}
