import { randomUUID } from "node:crypto";
import type { TokenProbability } from "@hearth-and-keep/engine";
import type { GenerationEvent } from "../../generation/events.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";

export type GenerationEnd = Extract<GenerationEvent, { type: "generation-end" }>;
export type TokenUsage = GenerationEnd["usage"];

/** The fields that all chunks of one response share. */
export function writeResponseHead(
  { digest }: Pick<ModelDescription, "digest">,
  { prefix, object, model }: { readonly prefix: string; readonly object: string; readonly model: string },
) {
  return {
    id: `${prefix}-${randomUUID().replaceAll("-", "")}`,
    object,
    created: Math.floor(Date.now() / 1000),
    model,
    // Equal for responses from the same model file.
    system_fingerprint: `fp_${digest.slice(-12)}`,
  };
}

export function writeUsage({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: TokenUsage) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

/** Adds another choice for the same prompt. The prompt is counted once, as OpenAI does. */
export function addChoiceUsage(first: TokenUsage | undefined, next: TokenUsage): TokenUsage {
  if (first === undefined) return next;
  return {
    ...first,
    outputTokens: first.outputTokens + next.outputTokens,
    reasoningTokens: first.reasoningTokens + next.reasoningTokens,
  };
}

/** Adds the usage of another prompt. */
export function addPromptUsage(
  first: TokenUsage | undefined,
  next: TokenUsage | undefined,
): TokenUsage | undefined {
  if (first === undefined || next === undefined) return first ?? next;
  return {
    ...addChoiceUsage(first, next),
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

export function writeTokens(tokens: readonly TokenProbability[]) {
  return tokens.map((token) => ({
    ...writeToken(token),
    top_logprobs: token.alternatives.map(writeToken),
  }));
}

function writeToken({ text, logProbability }: Pick<TokenProbability, "text" | "logProbability">) {
  return { token: text, logprob: finiteLogprob(logProbability), bytes: bytesOf(text) };
}

/** A token that ends within a character has no text of its own, and engines do not report its bytes. */
function bytesOf(text: string): readonly number[] | null {
  return text.includes("\uFFFD") ? null : [...Buffer.from(text)];
}

/** JSON has no infinity; OpenAI uses -9999 for impossible tokens. */
export function finiteLogprob(logProbability: number): number {
  return Math.max(logProbability, -9999);
}
