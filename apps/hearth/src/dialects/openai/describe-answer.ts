import { randomUUID } from "node:crypto";
import type { TokenProbability } from "@hearth-and-keep/engine";
import type { AnswerEvent } from "../../generation/answer-request.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";

export type GenerationEnd = Extract<AnswerEvent, { type: "generation-end" }>;
export type AnswerUsage = GenerationEnd["usage"];

/** What all chunks of one answer have in common. */
export function describeAnswer(
  { digest }: Pick<ModelDescription, "digest">,
  { prefix, object, model }: { readonly prefix: string; readonly object: string; readonly model: string },
) {
  return {
    id: `${prefix}-${randomUUID().replaceAll("-", "")}`,
    object,
    created: Math.floor(Date.now() / 1000),
    model,
    // Answers of one model's bytes can be compared with each other.
    system_fingerprint: `fp_${digest.slice(-12)}`,
  };
}

export function describeUsage({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: AnswerUsage) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

/** Several answers to one prompt: it is counted once, as this family does. */
export function sumUsage(first: AnswerUsage | undefined, next: AnswerUsage): AnswerUsage {
  if (first === undefined) return next;
  return {
    ...first,
    outputTokens: first.outputTokens + next.outputTokens,
    reasoningTokens: first.reasoningTokens + next.reasoningTokens,
  };
}

/** Answers to different prompts. */
export function addUsage(
  first: AnswerUsage | undefined,
  next: AnswerUsage | undefined,
): AnswerUsage | undefined {
  if (first === undefined || next === undefined) return first ?? next;
  return {
    ...sumUsage(first, next),
    promptTokens: first.promptTokens + next.promptTokens,
    cachedTokens: first.cachedTokens + next.cachedTokens,
  };
}

export function finishReasonOf({ reason }: Pick<GenerationEnd, "reason">): "stop" | "length" | "tool_calls" {
  switch (reason) {
    case "stop":
    case "stop-sequence":
      return "stop";
    case "length":
      return "length";
    case "tool-calls":
      return "tool_calls";
  }
}

export function describeTokens(tokens: readonly TokenProbability[]) {
  return tokens.map((token) => ({
    ...describeToken(token),
    top_logprobs: token.alternatives.map(describeToken),
  }));
}

function describeToken({ text, logProbability }: Pick<TokenProbability, "text" | "logProbability">) {
  return { token: text, logprob: finite(logProbability), bytes: [...Buffer.from(text)] };
}

/** JSON has no infinity; this is what the family writes for what cannot be. */
export function finite(logProbability: number): number {
  return Math.max(logProbability, -9999);
}
