import type { EngineFailure, Sampling } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { Fields } from "../wire/json-fields.ts";
import type { Dialect } from "./dialects.ts";

/** The server's defaults. An engine that does not support one of them may use its own default instead. */
const defaultSampling = { topK: 40, repeatPenalty: 1.1, repeatLastTokens: 64 } as const;
/** Larger than any context, so the penalty applies to all of it. */
const wholeContext = 1_000_000;
/** OpenAI's maximum bias, which effectively bans or forces a token. */
const maxBias = 100;

/** Converts sampling options to the engine's fields; an option without a field is rejected by name. */
export function writeSampling(sampling: Sampling, dialect: Dialect): Fields {
  const { temperature, topP, frequencyPenalty, presencePenalty, seed, logitBias } = sampling;
  return {
    temperature,
    top_p: topP,
    frequency_penalty: frequencyPenalty,
    presence_penalty: presencePenalty,
    seed,
    ...writeExtras(sampling, dialect),
    ...writePenalty(sampling, dialect),
    ...(logitBias.size === 0 ? {} : { logit_bias: writeBias(logitBias, dialect) }),
  };
}

function writeExtras(
  { topK, minP, typicalP }: Sampling,
  { sampling, disabledTopK: anyTopK }: Dialect,
): Fields {
  if (sampling.topK === undefined && topK !== 0 && topK !== defaultSampling.topK) throw notSupported("top_k");
  if (sampling.minP === undefined && minP !== 0) throw notSupported("min_p");
  if (sampling.typicalP === undefined && typicalP !== 1) throw notSupported("typical_p");
  return {
    ...(sampling.topK === undefined ? {} : { [sampling.topK]: topK === 0 ? anyTopK : topK }),
    ...(sampling.minP === undefined ? {} : { [sampling.minP]: minP }),
    ...(sampling.typicalP === undefined ? {} : { [sampling.typicalP]: typicalP }),
  };
}

function writePenalty({ repeatPenalty, repeatLastTokens }: Sampling, { sampling }: Dialect): Fields {
  const { repeatPenalty: field, repeatLastTokens: span } = sampling;
  if (field !== undefined && span !== undefined) {
    return { [field]: repeatPenalty, [span]: repeatLastTokens === wholeContext ? -1 : repeatLastTokens };
  }
  const isDefault =
    repeatPenalty === defaultSampling.repeatPenalty && repeatLastTokens === defaultSampling.repeatLastTokens;
  // The default is meant for the last few tokens; applied to the whole context it would ruin long outputs.
  if (isDefault || repeatPenalty === 1 || repeatLastTokens === 0) return {};
  if (field === undefined) throw notSupported("repeat_penalty");
  const isWholeContext =
    repeatLastTokens === wholeContext || repeatLastTokens === defaultSampling.repeatLastTokens;
  if (!isWholeContext) throw notSupported("repeat_last_n");
  return { [field]: repeatPenalty };
}

function writeBias(bias: Sampling["logitBias"], { supportsBiasPairs: takesBiasPairs }: Dialect): unknown {
  const pairs = [...bias];
  if (takesBiasPairs) {
    return pairs.map(([token, value]) => [token, value === Number.NEGATIVE_INFINITY ? false : value]);
  }
  const bounded = pairs.map(([token, value]) => [
    String(token),
    Math.max(-maxBias, Math.min(maxBias, value)),
  ]);
  return Object.fromEntries(bounded);
}

export function notSupported(feature: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "not-supported", feature });
}
