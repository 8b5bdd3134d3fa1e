import type { EngineFailure, Sampling } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { Fields } from "../wire/json-fields.ts";
import type { Dialect } from "./dialects.ts";

/** What the server takes when nobody says anything: an engine that cannot do it may do what it likes there. */
const usual = { topK: 40, repeatPenalty: 1.1, repeatLastTokens: 64 } as const;
/** Wide enough for every context: the penalty looks at all of it. */
const wholeContext = 1_000_000;
/** OpenAI's strongest bias, which in effect forbids or forces a token. */
const strongestBias = 100;

/** How tokens are chosen, in an engine's own fields; a wish that it has no field for is refused by name. */
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

function writeExtras({ topK, minP, typicalP }: Sampling, { sampling, anyTopK }: Dialect): Fields {
  if (sampling.topK === undefined && topK !== 0 && topK !== usual.topK) throw notSupported("top_k");
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
  const isUsual = repeatPenalty === usual.repeatPenalty && repeatLastTokens === usual.repeatLastTokens;
  // Meant for the last few tokens; over a whole context the same number would ruin long answers.
  if (isUsual || repeatPenalty === 1 || repeatLastTokens === 0) return {};
  if (field === undefined) throw notSupported("repeat_penalty");
  const isWhole = repeatLastTokens === wholeContext || repeatLastTokens === usual.repeatLastTokens;
  if (!isWhole) throw notSupported("repeat_last_n");
  return { [field]: repeatPenalty };
}

function writeBias(bias: Sampling["logitBias"], { takesBiasPairs }: Dialect): unknown {
  const pairs = [...bias];
  if (takesBiasPairs) {
    return pairs.map(([token, value]) => [token, value === Number.NEGATIVE_INFINITY ? false : value]);
  }
  const bounded = pairs.map(([token, value]) => [
    String(token),
    Math.max(-strongestBias, Math.min(strongestBias, value)),
  ]);
  return Object.fromEntries(bounded);
}

export function notSupported(feature: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "not-supported", feature });
}
