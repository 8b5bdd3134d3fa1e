import { invalidField } from "../../failures.ts";
import type { SamplingOptions } from "../../generation/sampling.ts";
import { loadOptionNames } from "../../load-settings.ts";
import { parseValidParameters } from "../../models/metadata/model-parameters.ts";
import { pickLoadSettings, type RequestLoadSettings } from "../../scheduling/load-request.ts";

export type ReadOptions = {
  readonly sampling: SamplingOptions;
  readonly contextTokens?: number;
  /** To be used only from an admin: a load serves only requests with the same, and may unload other models. */
  readonly loadSettings?: RequestLoadSettings;
};

type OptionType = "integer" | "float32" | "boolean" | "array" | "string";
type NumberOption = { readonly name: keyof SamplingOptions | "contextTokens"; readonly type: OptionType };

/** Options that affect generation, by their Ollama names. */
const generationOptions = {
  temperature: { name: "temperature", type: "float32" },
  top_k: { name: "topK", type: "integer" },
  top_p: { name: "topP", type: "float32" },
  min_p: { name: "minP", type: "float32" },
  typical_p: { name: "typicalP", type: "float32" },
  repeat_penalty: { name: "repeatPenalty", type: "float32" },
  repeat_last_n: { name: "repeatLastTokens", type: "integer" },
  frequency_penalty: { name: "frequencyPenalty", type: "float32" },
  presence_penalty: { name: "presencePenalty", type: "float32" },
  seed: { name: "seed", type: "integer" },
  num_predict: { name: "maxTokens", type: "integer" },
  num_ctx: { name: "contextTokens", type: "integer" },
} as const satisfies Readonly<Record<string, NumberOption>>;

/** Options about loading, which the server decides. They are ignored, but their types are checked. */
const ignoredOptions: Readonly<Record<string, OptionType>> = {
  num_keep: "integer",
  main_gpu: "integer",
  num_thread: "integer",
  draft_num_predict: "integer",
  use_mmap: "boolean",
};

/** The options that have an effect. */
export const optionNames: readonly string[] = [...Object.keys(generationOptions), "stop", ...loadOptionNames];

const maxContextTokens = 2 ** 31 - 1;

/** The Ollama name of a sampling option. */
export function optionNameOf(parameter: keyof SamplingOptions): string {
  if (parameter === "stops") return "stop";
  return Object.entries(generationOptions).find(([, { name }]) => name === parameter)?.[0] ?? parameter;
}

/** Unknown options are ignored and named in the response, because old clients still send options that Ollama has removed. */
export function readOptions(options: Readonly<Record<string, unknown>> | null | undefined): ReadOptions {
  const entries = Object.entries(options ?? {}).filter(([, value]) => value !== null);
  const numbers: Record<string, number> = {};
  for (const [name, value] of entries) {
    if (Object.hasOwn(ignoredOptions, name)) checkType(name, value, ignoredOptions[name]);
    if (!Object.hasOwn(generationOptions, name)) continue;
    // The line above makes the name a key of the table.
    const option = generationOptions[name as keyof typeof generationOptions];
    numbers[option.name] = readNumber(name, value, option.type);
  }
  const { contextTokens, ...sampling } = numbers;
  const stop = options?.["stop"];
  const stops = stop === undefined || stop === null ? {} : { stops: readStops(stop) };
  const loadSettings = readLoadSettings(entries);
  return {
    sampling: { ...sampling, ...stops },
    ...(contextTokens === undefined ? {} : { contextTokens: checkContext(contextTokens) }),
    ...(loadSettings === undefined ? {} : { loadSettings }),
  };
}

/** The same as the parameters of a model, and checked like them. */
function readLoadSettings(entries: readonly (readonly [string, unknown])[]): RequestLoadSettings | undefined {
  const given = entries.filter(([name]) => loadOptionNames.some((each) => each === name));
  if (given.length === 0) return undefined;
  for (const [name, value] of given) checkType(name, value, loadOptionTypes[name]);
  const fields = given.map(([name, value]) => [name, typeof value === "number" ? Math.trunc(value) : value]);
  return pickLoadSettings(parseValidParameters(Object.fromEntries(fields)).values);
}

const loadOptionTypes: Readonly<Record<string, OptionType>> = {
  flash_attention: "boolean",
  kv_cache_type: "string",
};

/** Fractions of an integer option are truncated, as Ollama does. */
function readNumber(name: string, value: unknown, type: OptionType): number {
  if (typeof value !== "number") throw wrongType(name, type);
  return type === "integer" ? Math.trunc(value) : value;
}

function readStops(value: unknown): readonly string[] {
  const stops: readonly unknown[] = Array.isArray(value) ? value : [value];
  return stops.map((stop) => {
    if (typeof stop !== "string") throw wrongType("stop", "array");
    return stop;
  });
}

function checkContext(tokens: number): number {
  if (tokens >= 0 && tokens <= maxContextTokens) return tokens;
  throw invalidField('option "num_ctx"', `must be between 0 and ${maxContextTokens}`);
}

function checkType(name: string, value: unknown, type: OptionType = "integer"): void {
  const expected = type === "boolean" || type === "string" ? type : "number";
  if (typeof value !== expected) throw wrongType(name, type);
}

function wrongType(name: string, type: OptionType): Error {
  return invalidField(`option "${name}"`, `must be of type ${type}`);
}
