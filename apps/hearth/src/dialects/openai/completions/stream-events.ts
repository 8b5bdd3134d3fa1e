import type { TokenProbability } from "@hearth-and-keep/engine";
import type { HearthRequest } from "../../../dependencies.ts";
import type { GenerationEvent } from "../../../generation/events.ts";
import type { Choices } from "../generate-choices.ts";
import {
  addChoiceUsage,
  addPromptUsage,
  finishReasonOf,
  finiteLogprob,
  type GenerationEnd,
  type TokenUsage,
  writeUsage,
} from "../response-fields.ts";
import type { CompletionsBody } from "../schema.ts";

export type PromptChoices = { readonly prompt: string; readonly choices: Choices };

export type TextEvent =
  | { readonly type: "text"; readonly index: number; readonly chunk: TextChunk }
  | { readonly type: "usage"; readonly usage: TokenUsage };

export type TextChunk = {
  readonly text: string;
  readonly logprobs: TokenList | null;
  readonly finish_reason: string | null;
};

type TokenList = {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly number[];
  readonly top_logprobs: readonly Readonly<Record<string, number>>[];
  /** The position of each token in the text of its choice. */
  readonly text_offset: readonly number[];
};

/** The chunks of a stream without its `[DONE]`. On request a last chunk without choices carries the usage. */
export async function* streamEvents(
  events: AsyncIterable<TextEvent>,
  head: object,
  { stream_options: options }: CompletionsBody,
): AsyncGenerator<object> {
  const includesUsage = options?.include_usage === true;
  const noUsage = includesUsage ? { usage: null } : {};
  for await (const event of events) {
    if (event.type === "text")
      yield { ...head, choices: [{ index: event.index, ...event.chunk }], ...noUsage };
    else if (includesUsage) yield { ...head, choices: [], usage: writeUsage(event.usage) };
  }
}

/** The text of all choices, one choice after another, then their total usage. */
export async function* streamText(
  prompts: readonly PromptChoices[],
  { body, addLogFields }: HearthRequest<CompletionsBody>,
): AsyncGenerator<TextEvent> {
  let index = 0;
  let total: TokenUsage | undefined;
  for (const { prompt, choices } of prompts) {
    let usage: TokenUsage | undefined;
    for (const events of choices) {
      for await (const { end, ...chunk } of streamChoice(events, body.echo === true ? prompt : "")) {
        yield { type: "text", index, chunk };
        if (end !== undefined) usage = addChoiceUsage(usage, end.usage);
      }
      index += 1;
    }
    total = addPromptUsage(total, usage);
  }
  if (total === undefined) return;
  const { promptTokens, cachedTokens, outputTokens } = total;
  addLogFields({ promptTokens, cachedTokens, outputTokens });
  yield { type: "usage", usage: total };
}

/** One choice, `echo` first. The last chunk has no text, only the finish reason. */
async function* streamChoice(
  events: AsyncIterable<GenerationEvent>,
  echo: string,
): AsyncGenerator<TextChunk & { readonly end?: GenerationEnd }> {
  let offset = 0;
  for await (const event of events) {
    if (event.type !== "text-delta" && event.type !== "generation-end") continue;
    if (offset === 0 && echo !== "") {
      yield { text: echo, logprobs: null, finish_reason: null };
      offset = echo.length;
    }
    if (event.type === "generation-end") {
      yield { text: "", logprobs: null, finish_reason: finishReasonOf(event), end: event };
    } else {
      const logprobs = event.tokens === undefined ? null : writeTokenList(event.tokens, offset);
      yield { text: event.text, logprobs, finish_reason: null };
      offset += event.text.length;
    }
  }
}

function writeTokenList(tokens: readonly TokenProbability[], start: number): TokenList {
  let next = start;
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logProbability }) => finiteLogprob(logProbability)),
    top_logprobs: tokens.map(({ alternatives }) =>
      Object.fromEntries(
        alternatives.map(({ text, logProbability }) => [text, finiteLogprob(logProbability)]),
      ),
    ),
    text_offset: tokens.map(({ text }) => {
      const offset = next;
      next += text.length;
      return offset;
    }),
  };
}
