import type { Tool } from "@hearth-and-keep/engine";
import { messageStart, readMessageBody, readMessageHeader } from "./stream-parser/message-body.ts";
import { collectUntil, peek, skipWhitespace } from "./stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "./stream-parser/scanner.ts";
import { type Emit, type SplitEvent, splitEvents, textDelta } from "./stream-parser/split-events.ts";
import { CallWriter } from "./tool-calls/call-writer.ts";
import { completeCall } from "./tool-calls/complete-call.ts";
import { readTaggedCall, type TagShape } from "./tool-calls/tagged-parameters.ts";

const bodyStart = "<|message|>";
const messageEnds = ["<|eom|>", "<|eot|>"];
const markers = { headerStarts: [messageStart, " to=", "to=", bodyStart], bodyStart, messageEnds };
const invoke = '<atem:invoke name="';
const section = "</atem:function_calls>";

const invokeTags: TagShape = {
  nameEnd: '">',
  keyStart: '<atem:parameter name="',
  keyEnds: { '">': "by-schema" },
  valueEnd: "</atem:parameter>",
  callEnd: "</atem:invoke>",
};

/** The format of Muse Glimmer: every message has a header with its recipient. */
export function hasRecipients(template: string): boolean {
  return template.includes("<atem:invoke name=") && template.includes(bodyStart);
}

/**
 * Splits thinking, text and calls in one stage, because all three are messages of the same form:
 *
 *   [<|start|>assistant] to=recipient<|message|> body <|eom|>
 *
 * A message to `self` is thinking, one to `user` is visible, and any other is a call. Calls quoted in a visible message are
 * text. Constrained output has no headers, so text in place of a header is visible.
 */
export function splitRecipients(
  events: AsyncIterable<SplitEvent>,
  tools: readonly Tool[],
): AsyncGenerator<SplitEvent> {
  return splitEvents(events, function* readMessages(scanner, emit) {
    const writer = new CallWriter(emit, { tools, endMarkers: [section, ...messageEnds] });
    while ((yield* peek(scanner)) !== "") yield* readMessage(scanner, writer, emit);
  });
}

/** What ends the thinking in which raw output stops; undefined if it does not stop in thinking. */
export function closeThinkingToSelf(output: string, hasTools: boolean): string | undefined {
  const message = output.slice(Math.max(0, output.lastIndexOf(messageStart)));
  const isThinking = /^[^:]*?\bto=self\s*<\|message\|>/u.test(message);
  if (!isThinking || messageEnds.some((end) => message.includes(end))) return undefined;
  return `<|eom|>${messageStart}assistant${hasTools ? "" : ` to=user${bodyStart}`}`;
}

function* readMessage(scanner: Scanner, writer: CallWriter, emit: Emit): ParserSteps {
  const header = yield* readMessageHeader(scanner, markers, emit);
  if (header === undefined) return;
  if (header.marker === undefined) {
    // Text that starts like a header.
    if (scanner.endedBy === "stop") emit(textDelta({ text: header.text }));
    return;
  }
  scanner.take(bodyStart.length);
  const recipient = /\bto=(?<name>[^\s<]+)/u.exec(header.text)?.groups?.["name"] ?? "user";
  if (recipient === "user")
    return yield* readMessageBody(scanner, messageEnds, (chunk) => emit(textDelta(chunk)));
  if (recipient !== "self" && writer.hasTools) return yield* readCalls(scanner, writer);
  yield* skipWhitespace(scanner);
  yield* readMessageBody(scanner, messageEnds, ({ text }) => emit({ type: "reasoning-delta", text }));
}

/** The calls of one message. What is not a call is text. */
function* readCalls(scanner: Scanner, writer: CallWriter): ParserSteps {
  const calls = writer.count;
  for (;;) {
    scanner.startRecording();
    const { text, marker } = yield* collectUntil(scanner, [invoke, ...messageEnds, messageStart]);
    if (marker !== invoke) {
      scanner.stopRecording();
      if (marker !== undefined && marker !== messageStart) scanner.take(marker.length);
      const isTruncated = marker === undefined && scanner.endedBy === "length";
      if (writer.count === calls) writer.fail(isTruncated ? "unfinished" : "malformed", text);
      return;
    }
    scanner.take(invoke.length);
    const outcome = yield* readTaggedCall(scanner, invokeTags, writer);
    if (outcome !== "complete") completeCall(scanner, writer, writer.count > calls);
    scanner.stopRecording();
  }
}
