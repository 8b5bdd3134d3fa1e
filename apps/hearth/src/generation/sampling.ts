import { randomInt } from "node:crypto";
import type { Sampling } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

/** Options that a request or a model's parameters can set; a missing one falls back to the next source. */
export type SamplingOptions = { readonly [Name in NumberName]?: number } & {
  readonly logitBias?: ReadonlyMap<number, number>;
  readonly stops?: readonly string[];
};

export type ResolvedSampling = {
  readonly sampling: Sampling;
  readonly maxTokens: number;
  /** Applied by Hearth, not by the engine. */
  readonly stops: readonly string[];
};

export type SamplingFailure = {
  readonly kind: "parameter-out-of-range";
  /** Our name for it; each API has its own. */
  readonly parameter: keyof SamplingOptions;
  readonly min: number;
  readonly max: number;
};

type NumberName = keyof typeof numbers;

/** As many tokens as fit into the context. */
export const untilContextIsFull = Number.MAX_SAFE_INTEGER;

const maxStops = 64;
const maxStopLength = 1024;
const maxBiases = 1024;
const maxSeed = 2 ** 32 - 1;

/** The server's default and the accepted range of each numeric option. */
const numbers = {
  temperature: { default: 0.7, min: 0, max: 100 },
  topK: { default: 40, min: -1, max: 1_000_000 },
  topP: { default: 0.9, min: 0, max: 1 },
  minP: { default: 0, min: 0, max: 1 },
  typicalP: { default: 1, min: 0, max: 1 },
  repeatPenalty: { default: 1.1, min: 0, max: 10 },
  /** -1: the whole context. */
  repeatLastTokens: { default: 64, min: -1, max: 1_000_000 },
  frequencyPenalty: { default: 0, min: -10, max: 10 },
  presencePenalty: { default: 0, min: -10, max: 10 },
  /** Negative: random. */
  seed: { default: -1, min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER },
  /** Negative: until the context is full. */
  maxTokens: { default: 4096, min: -2, max: 100_000_000 },
} as const;

/** The request takes precedence over the model's parameters, and those over the server's defaults. */
export function resolveSampling(request: SamplingOptions, model: SamplingOptions): ResolvedSampling {
  const resolve = (name: NumberName): number => {
    const { default: defaultValue, min, max } = numbers[name];
    const value = request[name] ?? model[name] ?? defaultValue;
    if (!(value >= min && value <= max)) throw outOfRange(name, min, max);
    return value;
  };
  const logitBias = request.logitBias ?? model.logitBias ?? new Map();
  if (logitBias.size > maxBiases) throw outOfRange("logitBias", 0, maxBiases);
  const maxTokens = resolve("maxTokens");
  const repeatLastTokens = resolve("repeatLastTokens");
  const repeatPenalty = resolve("repeatPenalty");
  return {
    sampling: {
      temperature: resolve("temperature"),
      topK: Math.max(0, Math.floor(resolve("topK"))),
      topP: resolve("topP"),
      minP: resolve("minP"),
      typicalP: resolve("typicalP"),
      // A factor of zero would erase the logits; like llama.cpp, treat it as off.
      repeatPenalty: repeatPenalty === 0 ? 1 : repeatPenalty,
      repeatLastTokens: repeatLastTokens < 0 ? numbers.repeatLastTokens.max : Math.floor(repeatLastTokens),
      frequencyPenalty: resolve("frequencyPenalty"),
      presencePenalty: resolve("presencePenalty"),
      seed: resolveSeed(resolve("seed")),
      logitBias,
    },
    maxTokens: maxTokens < 0 ? untilContextIsFull : Math.floor(maxTokens),
    stops: resolveStops(request, model),
  };
}

/** The engine's seeds have 32 bits; larger ones are reduced modulo 2^32, so that equal seeds stay equal. */
function resolveSeed(seed: number): number {
  return seed < 0 ? randomInt(maxSeed) : Math.floor(seed) % (maxSeed + 1);
}

/** A request's stops are added to the model's own: without those, the model would continue the conversation itself. */
function resolveStops(request: SamplingOptions, model: SamplingOptions): readonly string[] {
  const stops = [...new Set([...(request.stops ?? []), ...(model.stops ?? [])])].filter(
    (stop) => stop !== "",
  );
  if (stops.length > maxStops) throw outOfRange("stops", 0, maxStops);
  if (stops.some((stop) => stop.length > maxStopLength)) throw outOfRange("stops", 1, maxStopLength);
  return stops;
}

function outOfRange(
  parameter: keyof SamplingOptions,
  min: number,
  max: number,
): FailureError<SamplingFailure> {
  return new FailureError<SamplingFailure>({ kind: "parameter-out-of-range", parameter, min, max });
}
