import { modelFailure } from "../model-failure.ts";
import { type JsonFields, parseFields } from "../store/json-fields.ts";

type Bound = {
  readonly as: string;
  readonly least: number;
  readonly most: number;
  readonly isWhole?: boolean;
};

const largestCount = 2 ** 31 - 1;
/** The numbers a model may set, by their names in the layer. */
const numbers = {
  temperature: { as: "temperature", least: 0, most: 100 },
  top_k: { as: "topK", least: 0, most: largestCount, isWhole: true },
  top_p: { as: "topP", least: 0, most: 1 },
  min_p: { as: "minP", least: 0, most: 1 },
  typical_p: { as: "typicalP", least: 0, most: 1 },
  repeat_penalty: { as: "repeatPenalty", least: 0, most: 100 },
  /** -1 is the whole context. */
  repeat_last_n: { as: "repeatLastTokens", least: -1, most: largestCount, isWhole: true },
  presence_penalty: { as: "presencePenalty", least: -100, most: 100 },
  frequency_penalty: { as: "frequencyPenalty", least: -100, most: 100 },
  /** -1 is a new one each time. */
  seed: { as: "seed", least: -1, most: Number.MAX_SAFE_INTEGER, isWhole: true },
  /** -1 is until the context is full, -2 the same. */
  num_predict: { as: "mostTokens", least: -2, most: largestCount, isWhole: true },
  /** 0 leaves it to the server. */
  num_ctx: { as: "contextTokens", least: 0, most: largestCount, isWhole: true },
  num_keep: { as: "keptTokens", least: -1, most: largestCount, isWhole: true },
  num_batch: { as: "batchTokens", least: 1, most: largestCount, isWhole: true },
  /** -1 leaves it to the engine. */
  num_gpu: { as: "gpuLayers", least: -1, most: 100_000, isWhole: true },
  main_gpu: { as: "mainGpu", least: 0, most: 1024, isWhole: true },
  num_thread: { as: "threads", least: 0, most: 1024, isWhole: true },
  draft_num_predict: { as: "draftTokens", least: 0, most: largestCount, isWhole: true },
} as const satisfies Readonly<Record<string, Bound>>;

/** All that a model, a request or a person can set. */
export const parameterNames: readonly string[] = [...Object.keys(numbers), "stop", "use_mmap"];

type NumberName = (typeof numbers)[keyof typeof numbers]["as"];

/** What a model sets for itself; a request may say otherwise, and the server's defaults fill the rest. */
type ModelParameters = { readonly [Name in NumberName]?: number } & {
  readonly stops?: readonly string[];
  readonly memoryMap?: boolean;
};

export type ReadParameters = {
  readonly values: ModelParameters;
  /** As they are written, sorted by name, those we do not know too. */
  readonly written: readonly (readonly [name: string, value: unknown])[];
  /** Known ones with a value that cannot be used. */
  readonly refused: readonly { readonly parameter: string; readonly reason: string }[];
};

export const noParameters: ReadParameters = { values: {}, written: [], refused: [] };
export const mostParameterBytes = 256 * 1024;
const mostParameters = 256;
const mostStops = 128;
const longestStop = 1024;

/** Parameters of a stored model. One bad value must not cost the model, so it is left out and told. */
export function parseParameters(content: Uint8Array): ReadParameters {
  return readParameters(parseFields(content));
}

/** Parameters that somebody wants to store now: the first bad value is refused. */
export function requireParameters(fields: JsonFields): ReadParameters {
  const parameters = readParameters(fields);
  const [bad] = parameters.refused;
  if (bad !== undefined) throw modelFailure({ kind: "parameter-invalid", ...bad });
  return parameters;
}

/** Why a known parameter cannot have this value; undefined when it can. */
export function refusalOf(parameter: string, value: unknown): string | undefined {
  const read = readParameter(parameter, value);
  return read !== undefined && "reason" in read ? read.reason : undefined;
}

function readParameters(fields: JsonFields): ReadParameters {
  const written = Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const values: Record<string, unknown> = {};
  const refused: { parameter: string; reason: string }[] = [];
  for (const [parameter, value] of written.slice(0, mostParameters)) {
    const read = readParameter(parameter, value);
    if (read === undefined) continue;
    if ("reason" in read) refused.push({ parameter, reason: read.reason });
    else values[read.as] = read.value;
  }
  if (written.length > mostParameters) {
    refused.push({
      parameter: written[mostParameters]?.[0] ?? "",
      reason: `there are more than ${mostParameters}`,
    });
  }
  return { values, written: written.slice(0, mostParameters), refused };
}

type Read = { readonly as: string; readonly value: unknown } | { readonly reason: string } | undefined;

/** Undefined for a parameter we do not know. */
function readParameter(parameter: string, value: unknown): Read {
  if (parameter === "stop") return readStops(value);
  if (parameter === "use_mmap") {
    return typeof value === "boolean" ? { as: "memoryMap", value } : { reason: "it must be true or false" };
  }
  const bound: Bound | undefined = Object.hasOwn(numbers, parameter)
    ? // The line above is what makes the text one of the table's names.
      numbers[parameter as keyof typeof numbers]
    : undefined;
  return bound === undefined ? undefined : readNumber(bound, value);
}

function readNumber({ as, least, most, isWhole }: Bound, value: unknown): Read {
  const isFit =
    typeof value === "number" &&
    value >= least &&
    value <= most &&
    (isWhole !== true || Number.isInteger(value));
  if (isFit) return { as, value };
  return { reason: `it must be a ${isWhole === true ? "whole " : ""}number from ${least} to ${most}` };
}

function readStops(value: unknown): Read {
  const stops: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isFit = stops.every((stop) => typeof stop === "string" && stop !== "" && stop.length <= longestStop);
  if (isFit && stops.length <= mostStops) return { as: "stops", value: stops };
  return { reason: `it must be at most ${mostStops} texts of 1 to ${longestStop} characters` };
}
