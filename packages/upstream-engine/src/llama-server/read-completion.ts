import type { EndReason, TextDelta, TokenProbability } from "@hearth-and-keep/engine";
import { countOf, type Fields, fieldsOf, listOf, numberOf, numbersOf, textOf } from "../wire/json-fields.ts";

/** One event of a completion stream. */
export type CompletionEvent =
  | { readonly type: "progress"; readonly evaluated: number; readonly total: number; readonly cached: number }
  | {
      readonly type: "chunk";
      readonly delta: TextDelta & { readonly outputTokens: number };
      readonly tokens: readonly number[];
    }
  | { readonly type: "end"; readonly end: CompletionEnd }
  | { readonly type: "error"; readonly status: number; readonly value: unknown };

export type CompletionEnd = {
  readonly reason: EndReason;
  readonly promptTokens: number | undefined;
  /** Without the end-of-generation token. */
  readonly outputTokens: number;
  readonly timings: CompletionTimings;
};

export type CompletionTimings = {
  readonly cachedTokens: number;
  readonly readTokens: number;
  readonly readMilliseconds: number;
};

/** `alternatives` is the requested number; undefined if no probabilities were requested. */
export function readCompletion(value: unknown, alternatives: number | undefined): CompletionEvent {
  const event = fieldsOf(value);
  if (event["error"] !== undefined) {
    return { type: "error", status: numberOf(fieldsOf(event["error"])["code"]) ?? 500, value };
  }
  if (event["prompt_progress"] !== undefined) {
    const { processed, total, cache } = fieldsOf(event["prompt_progress"]);
    return {
      type: "progress",
      evaluated: countOf(processed) ?? 0,
      total: countOf(total) ?? 0,
      cached: countOf(cache) ?? 0,
    };
  }
  if (event["stop"] === true) return { type: "end", end: readEnd(event) };
  return {
    type: "chunk",
    tokens: numbersOf(event["tokens"]),
    delta: {
      type: "text-delta",
      text: textOf(event["content"]),
      outputTokens: countOf(event["tokens_predicted"]) ?? 0,
      ...(alternatives === undefined ? {} : { tokens: readProbabilities(event, alternatives) }),
    },
  };
}

function readEnd(event: Fields): CompletionEnd {
  const isStopped = event["stop_type"] !== "limit";
  const predicted = countOf(event["tokens_predicted"]) ?? 0;
  return {
    reason: isStopped ? "stop" : "length",
    promptTokens: countOf(event["tokens_evaluated"]),
    outputTokens: Math.max(0, isStopped ? predicted - 1 : predicted),
    timings: readTimings(event),
  };
}

export function readTimings(event: unknown): CompletionTimings {
  const { cache_n, prompt_n, prompt_ms } = fieldsOf(fieldsOf(event)["timings"]);
  return {
    cachedTokens: countOf(cache_n) ?? 0,
    readTokens: countOf(prompt_n) ?? 0,
    readMilliseconds: numberOf(prompt_ms) ?? 0,
  };
}

function readProbabilities(event: Fields, alternatives: number): readonly TokenProbability[] {
  return listOf(event["completion_probabilities"]).map((entry) => ({
    ...readProbability(entry),
    alternatives: listOf(fieldsOf(entry)["top_logprobs"]).slice(0, alternatives).map(readProbability),
  }));
}

/** JSON has no minus infinity, so the probability of an impossible token is not a number. */
function readProbability(entry: unknown): Omit<TokenProbability, "alternatives"> {
  const { id, token, logprob } = fieldsOf(entry);
  return {
    token: numberOf(id) ?? 0,
    text: textOf(token),
    logProbability: numberOf(logprob) ?? Number.NEGATIVE_INFINITY,
  };
}
