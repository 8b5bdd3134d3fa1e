import type { EngineRequest, Sampling } from "@hearth-and-keep/engine";
import type { Prompt } from "./prompts.ts";
import type { LeasedSlot } from "./slot-pool.ts";

export type BodyOptions = {
  readonly slot: LeasedSlot;
  /** Validated GBNF. */
  readonly grammar: string | undefined;
  readonly preservedTokens: readonly string[];
  /** Whether the slot's cached tokens may be reused. */
  readonly usesCache: boolean;
};

/** The most alternatives that any API can request. */
const maxAlternatives = 20;
const maxTokens = 2 ** 31 - 1;
/** The other fields of the final event only repeat the request. */
const finalFields = ["stop", "stop_type", "tokens_predicted", "tokens_evaluated", "timings"];

/** Converts a request to the body of llama-server's `/completion`. */
export function completionBody(request: EngineRequest, prompt: Prompt, options: BodyOptions): object {
  const { slot, grammar, preservedTokens, usesCache } = options;
  return {
    prompt: promptOf(prompt),
    id_slot: slot.id,
    cache_prompt: usesCache,
    n_predict: Math.min(request.maxTokens, maxTokens),
    stream: true,
    return_tokens: true,
    response_fields: finalFields,
    preserved_tokens: preservedTokens,
    // Only the engine knows the length of a prompt with media.
    ...(prompt.type === "media" ? { return_progress: true } : {}),
    ...(request.logProbabilities === undefined
      ? {}
      : { n_probs: Math.max(1, Math.min(request.logProbabilities, maxAlternatives)) }),
    ...(grammar === undefined ? {} : { grammar }),
    ...samplingOf(request.sampling),
  };
}

/** Evaluates the start of a prompt in a slot without generating anything. */
export function stepBody(tokens: readonly number[], slot: LeasedSlot, usesCache: boolean): object {
  return {
    prompt: tokens,
    id_slot: slot.id,
    cache_prompt: usesCache,
    n_predict: 0,
    temperature: 0,
    response_fields: ["timings"],
  };
}

function promptOf(prompt: Prompt): unknown {
  if (prompt.type === "tokens") return prompt.tokens;
  const encoded = prompt.media.map(({ bytes }) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"),
  );
  return { prompt_string: prompt.text, multimodal_data: encoded };
}

function samplingOf(sampling: Sampling): object {
  return {
    temperature: sampling.temperature,
    top_k: sampling.topK,
    top_p: sampling.topP,
    min_p: sampling.minP,
    typical_p: sampling.typicalP,
    repeat_penalty: sampling.repeatPenalty,
    repeat_last_n: sampling.repeatLastTokens,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    seed: sampling.seed >>> 0,
    ...(sampling.logitBias.size === 0 ? {} : { logit_bias: biasOf(sampling) }),
  };
}

/** JSON has no infinity; the engine accepts `false` for minus infinity. */
function biasOf({ logitBias }: Sampling): readonly (readonly [number, number | false])[] {
  return [...logitBias].map(([token, logit]) => [token, logit === Number.NEGATIVE_INFINITY ? false : logit]);
}
