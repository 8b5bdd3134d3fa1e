import type { EndReason, TextDelta, TokenProbability } from "@hearth-and-keep/engine";
import { type Fields, fieldsOf, listOf, numberOf, numbersOf, textOf } from "../wire/json-fields.ts";

/** One event of a completion's stream. */
export type CompletionPart =
  | { readonly type: "progress"; readonly evaluated: number; readonly total: number; readonly cached: number }
  | {
      readonly type: "piece";
      readonly delta: TextDelta & { readonly outputTokens: number };
      readonly tokens: readonly number[];
    }
  | { readonly type: "end"; readonly end: CompletionEnd }
  | { readonly type: "refusal"; readonly status: number; readonly value: unknown };

export type CompletionEnd = {
  readonly reason: EndReason;
  readonly promptTokens: number | undefined;
  /** The token that ended the answer is no part of it. */
  readonly outputTokens: number;
  readonly timings: CompletionTimings;
};

export type CompletionTimings = {
  readonly cachedTokens: number;
  readonly readTokens: number;
  readonly readMilliseconds: number;
};

/** `alternatives` is how many were asked for; undefined when no probabilities were. */
export function readCompletion(value: unknown, alternatives: number | undefined): CompletionPart {
  const event = fieldsOf(value);
  if (event["error"] !== undefined) {
    return { type: "refusal", status: numberOf(fieldsOf(event["error"])["code"]) ?? 500, value };
  }
  if (event["prompt_progress"] !== undefined) {
    const { processed, total, cache } = fieldsOf(event["prompt_progress"]);
    return {
      type: "progress",
      evaluated: numberOf(processed) ?? 0,
      total: numberOf(total) ?? 0,
      cached: numberOf(cache) ?? 0,
    };
  }
  if (event["stop"] === true) return { type: "end", end: readEnd(event) };
  return {
    type: "piece",
    tokens: numbersOf(event["tokens"]),
    delta: {
      type: "text-delta",
      text: textOf(event["content"]),
      outputTokens: numberOf(event["tokens_predicted"]) ?? 0,
      ...(alternatives === undefined ? {} : { tokens: readProbabilities(event, alternatives) }),
    },
  };
}

function readEnd(event: Fields): CompletionEnd {
  const isEnded = event["stop_type"] !== "limit";
  const written = numberOf(event["tokens_predicted"]) ?? 0;
  return {
    reason: isEnded ? "stop" : "length",
    promptTokens: numberOf(event["tokens_evaluated"]),
    outputTokens: Math.max(0, isEnded ? written - 1 : written),
    timings: readTimings(event),
  };
}

export function readTimings(event: unknown): CompletionTimings {
  const { cache_n, prompt_n, prompt_ms } = fieldsOf(fieldsOf(event)["timings"]);
  return {
    cachedTokens: numberOf(cache_n) ?? 0,
    readTokens: numberOf(prompt_n) ?? 0,
    readMilliseconds: numberOf(prompt_ms) ?? 0,
  };
}

function readProbabilities(event: Fields, alternatives: number): readonly TokenProbability[] {
  return listOf(event["completion_probabilities"]).map((entry) => ({
    ...readProbability(entry),
    alternatives: listOf(fieldsOf(entry)["top_logprobs"]).slice(0, alternatives).map(readProbability),
  }));
}

/** A token that was impossible has no number in JSON. */
function readProbability(entry: unknown): Omit<TokenProbability, "alternatives"> {
  const { id, token, logprob } = fieldsOf(entry);
  return {
    token: numberOf(id) ?? 0,
    text: textOf(token),
    logProbability: numberOf(logprob) ?? Number.NEGATIVE_INFINITY,
  };
}
