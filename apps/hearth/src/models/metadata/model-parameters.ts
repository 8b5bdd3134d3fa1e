import { Compile } from "typebox/compile";
import { modelFailure } from "../model-failure.ts";
import { type JsonObject, parseJson } from "../store/parse-json.ts";
import { parametersSchema } from "./schema.ts";

type Bound = {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly isInteger?: boolean;
};

const maxCount = 2 ** 31 - 1;
/** Numeric parameters by their names in the layer, with our names and their ranges. */
const numbers = {
  temperature: { name: "temperature", min: 0, max: 100 },
  top_k: { name: "topK", min: 0, max: maxCount, isInteger: true },
  top_p: { name: "topP", min: 0, max: 1 },
  min_p: { name: "minP", min: 0, max: 1 },
  typical_p: { name: "typicalP", min: 0, max: 1 },
  repeat_penalty: { name: "repeatPenalty", min: 0, max: 100 },
  /** -1: the whole context. */
  repeat_last_n: { name: "repeatLastTokens", min: -1, max: maxCount, isInteger: true },
  presence_penalty: { name: "presencePenalty", min: -100, max: 100 },
  frequency_penalty: { name: "frequencyPenalty", min: -100, max: 100 },
  /** -1: a new random seed for each request. */
  seed: { name: "seed", min: -1, max: Number.MAX_SAFE_INTEGER, isInteger: true },
  /** -1 and -2: until the context is full. */
  num_predict: { name: "maxTokens", min: -2, max: maxCount, isInteger: true },
  /** 0: the server decides. */
  num_ctx: { name: "contextTokens", min: 0, max: maxCount, isInteger: true },
  num_keep: { name: "keptTokens", min: -1, max: maxCount, isInteger: true },
  num_batch: { name: "batchTokens", min: 1, max: maxCount, isInteger: true },
  /** -1: the engine decides. */
  num_gpu: { name: "gpuLayers", min: -1, max: 100_000, isInteger: true },
  main_gpu: { name: "mainGpu", min: 0, max: 1024, isInteger: true },
  num_thread: { name: "threads", min: 0, max: 1024, isInteger: true },
  draft_num_predict: { name: "draftTokens", min: 0, max: maxCount, isInteger: true },
} as const satisfies Readonly<Record<string, Bound>>;

/** Every parameter that a model, a request or a chat session can set. */
export const parameterNames: readonly string[] = [
  ...Object.keys(numbers),
  "stop",
  "use_mmap",
  "flash_attention",
  "kv_cache_type",
];
const cacheTypes = ["f16", "q8_0", "q4_0"] as const;

type NumberName = (typeof numbers)[keyof typeof numbers]["name"];

/** Values that a model sets; a request overrides them, and the server's defaults fill in the rest. */
type ModelParameters = { readonly [Name in NumberName]?: number } & {
  readonly stops?: readonly string[];
  readonly memoryMap?: boolean;
  readonly flashAttention?: boolean;
  readonly cacheType?: (typeof cacheTypes)[number];
};

export type ParsedParameters = {
  readonly values: ModelParameters;
  /** All entries as stored, including unknown ones, sorted by name. */
  readonly entries: readonly (readonly [name: string, value: unknown])[];
  /** Known parameters with an invalid value. */
  readonly rejected: readonly { readonly parameter: string; readonly reason: string }[];
};

export const noParameters: ParsedParameters = { values: {}, entries: [], rejected: [] };
const maxParameters = 256;
const maxStops = 128;
const maxStopLength = 1024;
const validator = Compile(parametersSchema);

/** Parses the parameters of a stored model. An invalid value is left out and reported; it does not make the model unusable. */
export function parseParameters(content: Uint8Array): ParsedParameters {
  return readParameters(parseJson(content, validator));
}

/** Parses parameters that are about to be stored; throws on the first invalid value. */
export function parseValidParameters(fields: JsonObject): ParsedParameters {
  const parameters = readParameters(fields);
  const [invalid] = parameters.rejected;
  if (invalid !== undefined) throw modelFailure({ kind: "parameter-invalid", ...invalid });
  return parameters;
}

/** Why the value is invalid for this parameter; undefined when it is valid. */
export function checkParameter(parameter: string, value: unknown): string | undefined {
  const read = readParameter(parameter, value);
  return read !== undefined && "reason" in read ? read.reason : undefined;
}

function readParameters(fields: JsonObject): ParsedParameters {
  const entries = Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const values: Record<string, unknown> = {};
  const rejected: { parameter: string; reason: string }[] = [];
  for (const [parameter, value] of entries.slice(0, maxParameters)) {
    const read = readParameter(parameter, value);
    if (read === undefined) continue;
    if ("reason" in read) rejected.push({ parameter, reason: read.reason });
    else values[read.name] = read.value;
  }
  if (entries.length > maxParameters) {
    rejected.push({
      parameter: entries[maxParameters]?.[0] ?? "",
      reason: `there are more than ${maxParameters}`,
    });
  }
  return { values, entries: entries.slice(0, maxParameters), rejected };
}

type ReadParameter =
  | { readonly name: string; readonly value: unknown }
  | { readonly reason: string }
  | undefined;

/** Undefined for an unknown parameter. */
function readParameter(parameter: string, value: unknown): ReadParameter {
  if (parameter === "stop") return readStops(value);
  if (parameter === "use_mmap") return readBoolean("memoryMap", value);
  if (parameter === "flash_attention") return readBoolean("flashAttention", value);
  if (parameter === "kv_cache_type") {
    const isKnown = cacheTypes.some((each) => each === value);
    return isKnown ? { name: "cacheType", value } : { reason: `it must be one of ${cacheTypes.join(", ")}` };
  }
  const bound: Bound | undefined = Object.hasOwn(numbers, parameter)
    ? // The check above makes the text a key of the table.
      numbers[parameter as keyof typeof numbers]
    : undefined;
  return bound === undefined ? undefined : readNumber(bound, value);
}

function readBoolean(name: string, value: unknown): ReadParameter {
  return typeof value === "boolean" ? { name, value } : { reason: "it must be true or false" };
}

function readNumber({ name, min, max, isInteger = false }: Bound, value: unknown): ReadParameter {
  const isValid =
    typeof value === "number" && value >= min && value <= max && (!isInteger || Number.isInteger(value));
  if (isValid) return { name, value };
  return { reason: `it must be a ${isInteger ? "whole " : ""}number from ${min} to ${max}` };
}

function readStops(value: unknown): ReadParameter {
  const stops: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isValid = stops.every(
    (stop) => typeof stop === "string" && stop !== "" && stop.length <= maxStopLength,
  );
  if (isValid && stops.length <= maxStops) return { name: "stops", value: stops };
  return { reason: `it must be at most ${maxStops} strings of 1 to ${maxStopLength} characters` };
}
