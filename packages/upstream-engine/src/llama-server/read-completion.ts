import type { EndReason, TextDelta, TokenProbability } from "@hearth-and-keep/llama-engine";
import { fieldOf, listOf, numberOf, numbersOf, textOf } from "./read-json.ts";

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
export function readCompletion(event: unknown, alternatives: number | undefined): CompletionPart {
  const error = fieldOf(event, "error");
  if (error !== undefined) return { type: "refusal", status: numberOf(error, "code") ?? 500, value: event };
  const progress = fieldOf(event, "prompt_progress");
  if (progress !== undefined) {
    return {
      type: "progress",
      evaluated: numberOf(progress, "processed") ?? 0,
      total: numberOf(progress, "total") ?? 0,
      cached: numberOf(progress, "cache") ?? 0,
    };
  }
  if (fieldOf(event, "stop") === true) return { type: "end", end: readEnd(event) };
  return {
    type: "piece",
    tokens: numbersOf(event, "tokens"),
    delta: {
      type: "text-delta",
      text: textOf(event, "content") ?? "",
      outputTokens: numberOf(event, "tokens_predicted") ?? 0,
      ...(alternatives === undefined ? {} : { tokens: readProbabilities(event, alternatives) }),
    },
  };
}

function readEnd(event: unknown): CompletionEnd {
  const isEnded = textOf(event, "stop_type") !== "limit";
  const written = numberOf(event, "tokens_predicted") ?? 0;
  return {
    reason: isEnded ? "stop" : "length",
    promptTokens: numberOf(event, "tokens_evaluated"),
    outputTokens: Math.max(0, isEnded ? written - 1 : written),
    timings: readTimings(event),
  };
}

export function readTimings(event: unknown): CompletionTimings {
  const timings = fieldOf(event, "timings");
  return {
    cachedTokens: numberOf(timings, "cache_n") ?? 0,
    readTokens: numberOf(timings, "prompt_n") ?? 0,
    readMilliseconds: numberOf(timings, "prompt_ms") ?? 0,
  };
}

function readProbabilities(event: unknown, alternatives: number): readonly TokenProbability[] {
  return listOf(event, "completion_probabilities").map((entry) => ({
    ...readProbability(entry),
    alternatives: listOf(entry, "top_logprobs").slice(0, alternatives).map(readProbability),
  }));
}

/** A token that was impossible has no number in JSON. */
function readProbability(entry: unknown): Omit<TokenProbability, "alternatives"> {
  return {
    token: numberOf(entry, "id") ?? 0,
    text: textOf(entry, "token") ?? "",
    logProbability: numberOf(entry, "logprob") ?? Number.NEGATIVE_INFINITY,
  };
}
