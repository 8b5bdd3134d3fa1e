import type { Metadata } from "../reading/read-header.ts";

/** Hints from the header alone. Once a model is loaded, the engine's own description takes precedence. */
export type Capabilities = {
  readonly embedding: boolean;
  /** A reranker, which scores pairs of texts. */
  readonly rank: boolean;
  readonly fillInTheMiddle: boolean;
  readonly vision: boolean;
  readonly audio: boolean;
  readonly tools: boolean;
  readonly thinking: boolean;
};

/** The token that starts a fill-in-the-middle prompt, in the model families that support it. */
const fillInTheMiddleTokens = [
  "<|fim_prefix|>",
  "<fim-prefix>",
  "<fim_prefix>",
  "<PRE>",
  "▁<PRE>",
  "<｜fim▁begin｜>",
  "<|code_prefix|>",
];
const rankPooling = 4;

export function guessCapabilities(metadata: Metadata, architecture: string | null): Capabilities {
  const pooling = metadata.get(`${architecture}.pooling_type`)?.value;
  const isPooled = typeof pooling === "number" && pooling > 0;
  const template = metadata.get("tokenizer.chat_template")?.value;
  const templateText = typeof template === "string" ? template : "";
  return {
    embedding: isPooled && pooling !== rankPooling,
    rank: pooling === rankPooling,
    fillInTheMiddle: canFillInTheMiddle(metadata),
    vision: isTrue(metadata, "clip.has_vision_encoder") || metadata.has(`${architecture}.vision.block_count`),
    audio: isTrue(metadata, "clip.has_audio_encoder"),
    tools: /\btools\b/u.test(templateText),
    thinking: /<think>|enable_thinking|reasoning_content/u.test(templateText),
  };
}

function canFillInTheMiddle(metadata: Metadata): boolean {
  const keys = ["tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id"];
  if (keys.some((key) => metadata.has(key))) return true;
  const tokens = metadata.get("tokenizer.ggml.tokens")?.value;
  if (typeof tokens !== "object" || tokens.kind !== "strings") return false;
  return fillInTheMiddleTokens.some((token) => tokens.has(token));
}

function isTrue(metadata: Metadata, key: string): boolean {
  return metadata.get(key)?.value === true;
}
