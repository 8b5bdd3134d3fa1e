import type { EngineFailure } from "@hearth-and-keep/engine";
import { countOf, type Fields, fieldsOf, textOf } from "../wire/json-fields.ts";
import { type WireDetail, WireError } from "../wire/wire-error.ts";

/**
 * What an engine that did not answer means for the request and for the engine.
 * `elsewhere`: another engine may answer it. `caller`: no engine would, as the failure says.
 */
export type Refusal =
  | {
      readonly type: "elsewhere";
      /** `busy`: it has too much to do. `failed`: it broke. `gone`: nobody answers there. */
      readonly standing: "busy" | "failed" | "gone";
    }
  | { readonly type: "caller"; readonly failure: EngineFailure };

type RefusedDetail = Extract<WireDetail, { kind: "refused" }>;

/** Of whatever was thrown while an engine was asked; undefined when it is none of the engine's doing. */
export function explainRefusal(problem: unknown): Refusal | undefined {
  if (!(problem instanceof WireError)) return undefined;
  const { detail } = problem;
  if (detail.kind === "unreachable" || detail.kind === "closed-before") {
    return { type: "elsewhere", standing: "gone" };
  }
  if (detail.kind !== "refused") return { type: "elsewhere", standing: "failed" };
  const { status, value } = detail;
  if (status === 429 || status === 503) return { type: "elsewhere", standing: "busy" };
  const length = readLengths(value);
  if (length !== undefined) return { type: "caller", failure: { kind: "prompt-too-long", ...length } };
  const reason = readTemplateRefusal(value);
  if (reason !== undefined) return { type: "caller", failure: { kind: "template-failed", reason } };
  // Wrong credentials and an unknown model are this engine's settings, not the caller's fault.
  const isOfCaller = [400, 413, 422, 501].includes(status);
  if (!isOfCaller) return { type: "elsewhere", standing: "failed" };
  return { type: "caller", failure: { kind: "not-supported", feature: "a request of this kind" } };
}

type Lengths = { readonly promptTokens: number; readonly contextTokens: number };

/** How each engine says that a prompt is too long. These words and those of templates are all that is read of an engine's. */
const sentences: readonly RegExp[] = [
  /request \((?<prompt>\d+) tokens\) exceeds the available context size \((?<context>\d+) tokens\)/u,
  /maximum context length is (?<context>\d+) tokens.*?\((?<prompt>\d+) (?:in|of|from) the/su,
  /maximum context length is (?<context>\d+) tokens.*?(?:contains|has|resulted in)(?: at least)? (?<prompt>\d+)/su,
  /maximum context length of (?<context>\d+) tokens.*?(?<prompt>\d+) tokens from the input/su,
  /input \((?<prompt>\d+) tokens\) is longer than the model's context length \((?<context>\d+) tokens\)/su,
];
const mostCharacters = 4096;

/** Both counts, also when the prompt alone would fit and only the answer asked for does not. */
export function readLengths(value: unknown): Lengths | undefined {
  const error = errorOf(value);
  const promptTokens = countOf(error["n_prompt_tokens"]);
  const contextTokens = countOf(error["n_ctx"]);
  if (promptTokens !== undefined && contextTokens !== undefined) return { promptTokens, contextTokens };
  const sentence = sentenceOf(error);
  for (const pattern of sentences) {
    const { prompt, context } = pattern.exec(sentence)?.groups ?? {};
    if (prompt !== undefined) return { promptTokens: Number(prompt), contextTokens: Number(context) };
  }
  return undefined;
}

/** What a template calls to refuse a conversation; llama.cpp's own server answers it with 500. */
const templateRaises = /Jinja Exception:|raise_exception\(/u;
const templateReasons: readonly (readonly [RegExp, string])[] = [
  [/roles must alternate/iu, "the roles of its messages must alternate"],
  [/system message must be at the beginning/iu, "its system message must be the first"],
  [/system role (?:is )?not supported/iu, "the model takes no system message"],
];

/** A conversation that the model's own template does not take: no engine with this model would. */
function readTemplateRefusal(value: unknown): string | undefined {
  const sentence = sentenceOf(errorOf(value));
  const known = templateReasons.find(([pattern]) => pattern.test(sentence));
  if (known !== undefined) return known[1];
  return templateRaises.test(sentence) ? "it does not take a conversation of this kind" : undefined;
}

const leastErrorStatus = 400;
const mostErrorStatus = 599;

/** The refusal that stands in an event of a stream whose head had said 200; undefined when the event is none. */
export function refusalWithin(event: Fields): Pick<RefusedDetail, "status" | "value"> | undefined {
  // An engine may write the field into every event, empty.
  const isRefusal = (event["error"] ?? null) !== null || event["object"] === "error";
  if (!isRefusal) return undefined;
  const { code, type } = errorOf(event);
  const status = Number(code);
  if (status >= leastErrorStatus && status <= mostErrorStatus) return { status, value: event };
  // Without a number the name tells; an error that says nothing is the engine's own.
  return { status: /invalid_?request|bad_?request/iu.test(textOf(type)) ? 400 : 500, value: event };
}

function errorOf(value: unknown): Fields {
  const body = fieldsOf(value);
  const { error } = body;
  if (typeof error === "string") return { message: error };
  return Object.hasOwn(body, "error") ? fieldsOf(error) : body;
}

function sentenceOf(error: Fields): string {
  return textOf(error["message"]).slice(0, mostCharacters);
}
