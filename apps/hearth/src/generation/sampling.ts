import { randomInt } from "node:crypto";
import type { Sampling } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

/** What a request, or a model's own parameters, may say about choosing tokens; absent leaves it to the next in line. */
export type SamplingWishes = { readonly [Name in NumberName]?: number } & {
  readonly logitBias?: ReadonlyMap<number, number>;
  readonly stops?: readonly string[];
};

export type SettledSampling = {
  readonly sampling: Sampling;
  readonly mostTokens: number;
  readonly stops: readonly string[];
};

export type SamplingFailure = {
  readonly kind: "parameter-out-of-bounds";
  /** Our own name of it; each family has another. */
  readonly parameter: keyof SamplingWishes;
  readonly least: number;
  readonly most: number;
};

type NumberName = keyof typeof numbers;

/** As many tokens as the context has room for. */
export const untilContextIsFull = Number.MAX_SAFE_INTEGER;

const mostStops = 64;
const longestStop = 1024;
const mostBiases = 1024;
const largestSeed = 2 ** 32 - 1;

/** Every number that can be set: what is taken when nobody says anything, and how far it may go. */
const numbers = {
  temperature: { usual: 0.7, least: 0, most: 100 },
  topK: { usual: 40, least: -1, most: 1_000_000 },
  topP: { usual: 0.9, least: 0, most: 1 },
  minP: { usual: 0, least: 0, most: 1 },
  typicalP: { usual: 1, least: 0, most: 1 },
  repeatPenalty: { usual: 1.1, least: 0, most: 10 },
  /** Minus one looks at the whole context. */
  repeatLastTokens: { usual: 64, least: -1, most: 1_000_000 },
  frequencyPenalty: { usual: 0, least: -10, most: 10 },
  presencePenalty: { usual: 0, least: -10, most: 10 },
  /** Below zero asks for a random one. */
  seed: { usual: -1, least: Number.MIN_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER },
  /** Below zero writes until the context is full. */
  mostTokens: { usual: 4096, least: -2, most: 100_000_000 },
} as const;

/** The request decides, then the model's own parameters, then the server's defaults. */
export function settleSampling(request: SamplingWishes, model: SamplingWishes): SettledSampling {
  const settled = (name: NumberName): number => {
    const { usual, least, most } = numbers[name];
    const value = request[name] ?? model[name] ?? usual;
    if (!(value >= least && value <= most)) throw outOfBounds(name, least, most);
    return value;
  };
  const logitBias = request.logitBias ?? model.logitBias ?? new Map();
  if (logitBias.size > mostBiases) throw outOfBounds("logitBias", 0, mostBiases);
  const mostTokens = settled("mostTokens");
  const repeatLastTokens = settled("repeatLastTokens");
  const repeatPenalty = settled("repeatPenalty");
  return {
    sampling: {
      temperature: settled("temperature"),
      topK: Math.max(0, Math.floor(settled("topK"))),
      topP: settled("topP"),
      minP: settled("minP"),
      typicalP: settled("typicalP"),
      // Nothing can be multiplied by zero and stay comparable; llama.cpp takes it for "off" as well.
      repeatPenalty: repeatPenalty === 0 ? 1 : repeatPenalty,
      repeatLastTokens: repeatLastTokens < 0 ? numbers.repeatLastTokens.most : Math.floor(repeatLastTokens),
      frequencyPenalty: settled("frequencyPenalty"),
      presencePenalty: settled("presencePenalty"),
      seed: settleSeed(settled("seed")),
      logitBias,
    },
    mostTokens: mostTokens < 0 ? untilContextIsFull : Math.floor(mostTokens),
    stops: settleStops(request, model),
  };
}

/** The engine's seeds have 32 bits; larger ones are folded, so that equal seeds stay equal. */
function settleSeed(seed: number): number {
  return seed < 0 ? randomInt(largestSeed) : Math.floor(seed) % (largestSeed + 1);
}

/** A request adds to the model's own stops: losing those would let the model talk to itself. */
function settleStops(request: SamplingWishes, model: SamplingWishes): readonly string[] {
  const stops = [...new Set([...(request.stops ?? []), ...(model.stops ?? [])])].filter(
    (stop) => stop !== "",
  );
  if (stops.length > mostStops) throw outOfBounds("stops", 0, mostStops);
  if (stops.some((stop) => stop.length > longestStop)) throw outOfBounds("stops", 1, longestStop);
  return stops;
}

function outOfBounds(
  parameter: keyof SamplingWishes,
  least: number,
  most: number,
): FailureError<SamplingFailure> {
  return new FailureError<SamplingFailure>({ kind: "parameter-out-of-bounds", parameter, least, most });
}
