import type { HearthRequest } from "../../../dependencies.ts";
import type { GenerationEvent } from "../../../generation/events.ts";
import type { Choices } from "../generate-choices.ts";
import {
  addChoiceUsage,
  finishReasonOf,
  type GenerationEnd,
  type TokenUsage,
  writeTokens,
  writeUsage,
} from "../response-fields.ts";
import type { ChatCompletionsBody } from "../schema.ts";

/** The chunks of a stream without its `[DONE]`. On request a last chunk without choices carries the usage. */
export async function* streamEvents(
  choices: Choices,
  head: object,
  { body, addLogFields }: HearthRequest<ChatCompletionsBody>,
): AsyncGenerator<object> {
  const includesUsage = body.stream_options?.include_usage === true;
  const noUsage = includesUsage ? { usage: null } : {};
  let usage: TokenUsage | undefined;
  let index = 0;
  for (const events of choices) {
    for await (const { end, ...choice } of streamDeltas(events)) {
      yield { ...head, choices: [{ index, ...choice }], ...noUsage };
      if (end !== undefined) usage = addChoiceUsage(usage, end.usage);
    }
    index += 1;
  }
  if (usage === undefined) return;
  addLogFields({ outputTokens: usage.outputTokens });
  if (includesUsage) yield { ...head, choices: [], usage: writeUsage(usage) };
}

/** The choice of one chunk. */
type ChatDelta = {
  readonly delta: object;
  readonly logprobs: object | null;
  readonly finish_reason: string | null;
  /** Only in the last one. */
  readonly end?: GenerationEnd;
};

/**
 * The deltas of one choice: the role first, then text, reasoning and tool calls, and last an empty delta with the
 * finish reason. Nothing is sent before the first output, so that a failure until then has its own status.
 */
async function* streamDeltas(events: AsyncIterable<GenerationEvent>): AsyncGenerator<ChatDelta> {
  const calls = new OpenCalls();
  let isFirst = true;
  for await (const event of events) {
    const next = deltaOf(event, calls);
    if (next === undefined) continue;
    if (isFirst) yield plain({ role: "assistant", content: "" });
    isFirst = false;
    yield next;
  }
}

type OpenCall = { readonly index: number; hasArguments: boolean };

/**
 * Tool calls by the index that generation gives them. A call that fails before it starts uses up such an index but
 * none of the client's, whose list has no gaps.
 */
class OpenCalls {
  readonly #calls = new Map<number, OpenCall>();

  start(generatedIndex: number): number {
    const index = this.#calls.size;
    this.#calls.set(generatedIndex, { index, hasArguments: false });
    return index;
  }

  write(generatedIndex: number, text: string): ChatDelta | undefined {
    const call = this.#calls.get(generatedIndex);
    if (call === undefined) return undefined;
    call.hasArguments = true;
    return plain({ tool_calls: [{ index: call.index, function: { arguments: text } }] });
  }

  /** A call may end without any deltas; clients still parse its arguments, so they must be JSON. */
  end(generatedIndex: number, completeArguments: object): ChatDelta | undefined {
    return this.#calls.get(generatedIndex)?.hasArguments === false
      ? this.write(generatedIndex, JSON.stringify(completeArguments))
      : undefined;
  }
}

function deltaOf(event: GenerationEvent, calls: OpenCalls): ChatDelta | undefined {
  switch (event.type) {
    case "generation-start":
    case "prompt-progress":
      return undefined;
    case "text-delta": {
      const { text, tokens } = event;
      return { ...plain({ content: text }), logprobs: writeLogprobs(tokens) };
    }
    case "reasoning-delta":
      return plain({ reasoning: event.text, reasoning_content: event.text });
    case "tool-call-start": {
      const { id, name } = event;
      const index = calls.start(event.index);
      return plain({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    }
    case "tool-call-delta":
      return calls.write(event.index, event.argumentsText);
    case "tool-call-end":
      return calls.end(event.index, event.arguments);
    case "tool-call-fail":
      // A started call cannot be withdrawn; the finish reason reports that it is incomplete.
      return undefined;
    case "generation-end":
      return { delta: {}, logprobs: null, finish_reason: finishReasonOf(event), end: event };
  }
}

function plain(delta: object): ChatDelta {
  return { delta, logprobs: null, finish_reason: null };
}

export function writeLogprobs(tokens: Extract<GenerationEvent, { type: "text-delta" }>["tokens"]) {
  return tokens === undefined ? null : { content: writeTokens(tokens), refusal: null };
}
