import type { AnswerEvent } from "../../generation/answer-request.ts";
import { describeTokens, finishReasonOf, type GenerationEnd } from "./describe-answer.ts";

/** What changes with one chunk of a streamed choice. */
export type ChatDelta = {
  readonly delta: object;
  readonly logprobs: object | null;
  readonly finish_reason: string | null;
  /** With the last one only. */
  readonly end?: GenerationEnd;
};

/**
 * One choice as it comes into being: the role once and first, then text, thoughts and calls, then the reason of the
 * end with an empty delta. Nothing leaves before the first word, so that a failure until then has its own status.
 */
export async function* readChatDeltas(events: AsyncIterable<AnswerEvent>): AsyncGenerator<ChatDelta> {
  const calls = new BegunCalls();
  let isFirst = true;
  for await (const event of events) {
    const next = deltaOf(event, calls);
    if (next === undefined) continue;
    if (isFirst) yield plain({ role: "assistant", content: "" });
    isFirst = false;
    yield next;
  }
}

type Begun = { readonly index: number; hasArguments: boolean };

/**
 * The calls that were begun, by our numbers. One that failed before it began takes a number of ours but none of the
 * client's, whose list has no gaps.
 */
class BegunCalls {
  readonly #begun = new Map<number, Begun>();

  begin(number: number): number {
    const index = this.#begun.size;
    this.#begun.set(number, { index, hasArguments: false });
    return index;
  }

  has(number: number): boolean {
    return this.#begun.has(number);
  }

  write(number: number, text: string): ChatDelta | undefined {
    const call = this.#begun.get(number);
    if (call === undefined) return undefined;
    call.hasArguments = true;
    return plain({ tool_calls: [{ index: call.index, function: { arguments: text } }] });
  }

  /** A call without arguments may come without deltas; clients parse what they are given. */
  end(number: number, whole: object): ChatDelta | undefined {
    return this.#begun.get(number)?.hasArguments === false
      ? this.write(number, JSON.stringify(whole))
      : undefined;
  }
}

function deltaOf(event: AnswerEvent, calls: BegunCalls): ChatDelta | undefined {
  switch (event.type) {
    case "answer-start":
    case "prompt-progress":
      return undefined;
    case "text-delta": {
      const { text, tokens } = event;
      return { ...plain({ content: text }), logprobs: describeLogprobs(tokens) };
    }
    case "reasoning-delta":
      return plain({ reasoning: event.text, reasoning_content: event.text });
    case "tool-call-start": {
      const { id, name } = event;
      const index = calls.begin(event.index);
      return plain({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    }
    case "tool-call-delta":
      return calls.write(event.index, event.argumentsText);
    case "tool-call-end":
      return calls.end(event.index, event.arguments);
    case "tool-call-fail":
      // What was no call is text; a call that was begun cannot be taken back, and the reason of the end tells.
      return calls.has(event.index) || event.text === "" ? undefined : plain({ content: event.text });
    case "generation-end":
      return { delta: {}, logprobs: null, finish_reason: finishReasonOf(event), end: event };
  }
}

function plain(delta: object): ChatDelta {
  return { delta, logprobs: null, finish_reason: null };
}

export function describeLogprobs(tokens: Extract<AnswerEvent, { type: "text-delta" }>["tokens"]) {
  return tokens === undefined ? null : { content: describeTokens(tokens), refusal: null };
}
