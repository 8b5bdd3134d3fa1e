import type { EngineRequest, Sampling } from "@hearth-and-keep/engine";
import type { Prompt } from "./prompts.ts";
import type { LeasedSlot } from "./slot-pool.ts";

export type BodyOptions = {
  readonly slot: LeasedSlot;
  /** GBNF, already checked. */
  readonly grammar: string | undefined;
  readonly keptTokens: readonly string[];
  /** Whether what is in the slot may be used. */
  readonly usesCache: boolean;
};

/** As many as any protocol can ask for. */
const mostAlternatives = 20;
const maxTokens = 2 ** 31 - 1;
/** The rest of a last answer is the request again, in full. */
const endFields = ["stop", "stop_type", "tokens_predicted", "tokens_evaluated", "timings"];

/** One request in the words of llama-server's `/completion`. */
export function completionBody(request: EngineRequest, prompt: Prompt, parts: BodyOptions): object {
  const { slot, grammar, keptTokens, usesCache } = parts;
  return {
    prompt: promptOf(prompt),
    id_slot: slot.id,
    cache_prompt: usesCache,
    n_predict: Math.min(request.maxTokens, maxTokens),
    stream: true,
    return_tokens: true,
    response_fields: endFields,
    preserved_tokens: keptTokens,
    // The length of a prompt with images is only known to the engine.
    ...(prompt.type === "images" ? { return_progress: true } : {}),
    ...(request.logProbabilities === undefined
      ? {}
      : { n_probs: Math.max(1, Math.min(request.logProbabilities, mostAlternatives)) }),
    ...(grammar === undefined ? {} : { grammar }),
    ...samplingOf(request.sampling),
  };
}

/** Reads the beginning of a prompt into a slot and writes nothing. */
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
  const encoded = prompt.images.map(({ bytes }) =>
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

/** JSON has no infinity; the engine takes false for it. */
function biasOf({ logitBias }: Sampling): readonly (readonly [number, number | false])[] {
  return [...logitBias].map(([token, logit]) => [token, logit === Number.NEGATIVE_INFINITY ? false : logit]);
}
