/**
 * @module
 * What a request of this family says, in our own words: options, keep-alive, messages, images, thinking, formats and
 * the numbers of an earlier exchange. Promises that what comes out needs no further check, and that a refusal has the
 * text that clients of the family know. Imported by the handlers beside it.
 */
import { requestFailure } from "../../../failures.ts";
import type { SamplingWishes } from "../../../generation/sampling.ts";

export type ReadOptions = { readonly sampling: SamplingWishes; readonly contextTokens?: number };

type Kind = "integer" | "float32" | "boolean" | "array";
type NumberOption = { readonly as: keyof SamplingWishes | "contextTokens"; readonly kind: Kind };

/** Those that change an answer, by their names in `options`. */
const used = {
  temperature: { as: "temperature", kind: "float32" },
  top_k: { as: "topK", kind: "integer" },
  top_p: { as: "topP", kind: "float32" },
  min_p: { as: "minP", kind: "float32" },
  typical_p: { as: "typicalP", kind: "float32" },
  repeat_penalty: { as: "repeatPenalty", kind: "float32" },
  repeat_last_n: { as: "repeatLastTokens", kind: "integer" },
  frequency_penalty: { as: "frequencyPenalty", kind: "float32" },
  presence_penalty: { as: "presencePenalty", kind: "float32" },
  seed: { as: "seed", kind: "integer" },
  num_predict: { as: "mostTokens", kind: "integer" },
  num_ctx: { as: "contextTokens", kind: "integer" },
} as const satisfies Readonly<Record<string, NumberOption>>;

/** Those that only concern how a model is loaded, which the server decides; their types are still checked. */
const unused: Readonly<Record<string, Kind>> = {
  num_keep: "integer",
  num_batch: "integer",
  num_gpu: "integer",
  main_gpu: "integer",
  num_thread: "integer",
  draft_num_predict: "integer",
  use_mmap: "boolean",
};

const mostContextTokens = 2 ** 31 - 1;

/** The name under which this family knows one of our parameters. */
export function optionNamed(parameter: keyof SamplingWishes): string {
  if (parameter === "stops") return "stop";
  return Object.entries(used).find(([, { as }]) => as === parameter)?.[0] ?? parameter;
}

/** Keys that nobody knows are left alone: old clients still send options that were taken away long ago. */
export function readOptions(options: Readonly<Record<string, unknown>> | null | undefined): ReadOptions {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== null);
  const numbers: Record<string, number> = {};
  for (const [name, value] of given) {
    if (Object.hasOwn(unused, name)) refuseOtherKind(name, value, unused[name]);
    if (!Object.hasOwn(used, name)) continue;
    // The line above is what makes the text one of the table's names.
    const { as, kind } = used[name as keyof typeof used];
    numbers[as] = readNumber(name, value, kind);
  }
  const { contextTokens, ...sampling } = numbers;
  const stop = options?.["stop"];
  const stops = stop === undefined || stop === null ? {} : { stops: readStops(stop) };
  return {
    sampling: { ...sampling, ...stops },
    ...(contextTokens === undefined ? {} : { contextTokens: boundContext(contextTokens) }),
  };
}

/** A whole number written as 4096.0, or with a fraction, is cut, as Go does. */
function readNumber(name: string, value: unknown, kind: Kind): number {
  if (typeof value !== "number") throw wrongKind(name, kind);
  return kind === "integer" ? Math.trunc(value) : value;
}

function readStops(value: unknown): readonly string[] {
  const stops: readonly unknown[] = Array.isArray(value) ? value : [value];
  return stops.map((stop) => {
    if (typeof stop !== "string") throw wrongKind("stop", "array");
    return stop;
  });
}

function boundContext(tokens: number): number {
  if (tokens >= 0 && tokens <= mostContextTokens) return tokens;
  throw requestFailure({
    kind: "request-invalid",
    place: 'option "num_ctx"',
    reason: `must be from 0 to ${mostContextTokens}`,
  });
}

function refuseOtherKind(name: string, value: unknown, kind: Kind = "integer"): void {
  const is = kind === "boolean" ? "boolean" : "number";
  if (typeof value !== is) throw wrongKind(name, kind);
}

function wrongKind(name: string, kind: Kind): Error {
  return requestFailure({
    kind: "request-invalid",
    place: `option "${name}"`,
    reason: `must be of type ${kind}`,
  });
}
