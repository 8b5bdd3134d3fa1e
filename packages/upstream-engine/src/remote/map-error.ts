import type { EngineFailure } from "@hearth-and-keep/engine";
import { countOf, type Fields, fieldsOf, textOf } from "../wire/json-fields.ts";
import { WireError, type WireErrorDetail } from "../wire/wire-error.ts";

/**
 * What a failed request means. `retry-elsewhere`: another engine may be able to serve it. `client-error`: no engine can,
 * and `failure` says why.
 */
export type ClassifiedError =
  | {
      readonly type: "retry-elsewhere";
      /** `busy`: the engine is overloaded. `failed`: it returned an error. `unreachable`: it does not respond. */
      readonly condition: "busy" | "failed" | "unreachable";
    }
  | { readonly type: "client-error"; readonly failure: EngineFailure };

type ErrorResponseDetail = Extract<WireErrorDetail, { kind: "error-response" }>;

/** Classifies an error thrown during a request; undefined if the engine did not cause it. */
export function classifyError(error: unknown): ClassifiedError | undefined {
  if (!(error instanceof WireError)) return undefined;
  const { detail } = error;
  if (detail.kind === "unreachable" || detail.kind === "stale-connection") {
    return { type: "retry-elsewhere", condition: "unreachable" };
  }
  if (detail.kind !== "error-response") return { type: "retry-elsewhere", condition: "failed" };
  const { status, value } = detail;
  if (status === 429 || status === 503) return { type: "retry-elsewhere", condition: "busy" };
  const length = readLengths(value);
  if (length !== undefined) return { type: "client-error", failure: { kind: "prompt-too-long", ...length } };
  const reason = readTemplateError(value);
  if (reason !== undefined) return { type: "client-error", failure: { kind: "template-failed", reason } };
  // Wrong credentials and an unknown model are a misconfiguration of this engine, not the client's fault.
  const isClientError = [400, 405, 413, 422, 501].includes(status) || isMissingEndpoint(detail);
  if (!isClientError) return { type: "retry-elsewhere", condition: "failed" };
  return { type: "client-error", failure: { kind: "not-supported", feature: "this type of request" } };
}

/** As vLLM and SGLang report an endpoint that their model does not need, e.g. embeddings of a chat model. */
function isMissingEndpoint({ status, value }: ErrorResponseDetail): boolean {
  return status === 404 && fieldsOf(value)["detail"] === "Not Found";
}

type Lengths = { readonly promptTokens: number; readonly contextTokens: number };

/** Each engine's message for a prompt that is too long. No other engine text is interpreted, except template errors. */
const tooLongPatterns: readonly RegExp[] = [
  /request \((?<prompt>\d+) tokens\) exceeds the available context size \((?<context>\d+) tokens\)/u,
  /maximum context length is (?<context>\d+) tokens.*?\((?<prompt>\d+) (?:in|of|from) the/su,
  /maximum context length is (?<context>\d+) tokens.*?(?:contains|has|resulted in)(?: at least)? (?<prompt>\d+)/su,
  /maximum context length of (?<context>\d+) tokens.*?(?<prompt>\d+) tokens from the input/su,
  /input \((?<prompt>\d+) tokens\) is longer than the model's context length \((?<context>\d+) tokens\)/su,
];
const maxMessageCharacters = 4096;

/** Returns both counts, even if the prompt alone would fit and only the requested output does not. */
export function readLengths(value: unknown): Lengths | undefined {
  const error = errorOf(value);
  const promptTokens = countOf(error["n_prompt_tokens"]);
  const contextTokens = countOf(error["n_ctx"]);
  if (promptTokens !== undefined && contextTokens !== undefined) return { promptTokens, contextTokens };
  const message = messageOf(error);
  for (const pattern of tooLongPatterns) {
    const { prompt, context } = pattern.exec(message)?.groups ?? {};
    if (prompt !== undefined) return { promptTokens: Number(prompt), contextTokens: Number(context) };
  }
  return undefined;
}

/**
 * A chat template rejects a conversation by raising an exception, which llama.cpp's own server reports with status 500.
 */
const templateExceptions = /Jinja Exception:|raise_exception\(/u;
const templateReasons: readonly (readonly [RegExp, string])[] = [
  [/roles must alternate/iu, "the message roles must alternate"],
  [/system message must be at the beginning/iu, "the system message must be first"],
  [/system role (?:is )?not supported/iu, "the model does not support system messages"],
];

/** A conversation rejected by the model's own template, which no engine with this model can render. */
function readTemplateError(value: unknown): string | undefined {
  const message = messageOf(errorOf(value));
  const known = templateReasons.find(([pattern]) => pattern.test(message));
  if (known !== undefined) return known[1];
  return templateExceptions.test(message) ? "it does not support this type of conversation" : undefined;
}

const minErrorStatus = 400;
const maxErrorStatus = 599;

/** The error in an event of a stream that started with status 200; undefined if the event is not an error. */
export function errorInEvent(event: Fields): Pick<ErrorResponseDetail, "status" | "value"> | undefined {
  // Some engines include an empty `error` field in every event.
  const isError = (event["error"] ?? null) !== null || event["object"] === "error";
  if (!isError) return undefined;
  const { code, type } = errorOf(event);
  const status = Number(code);
  if (status >= minErrorStatus && status <= maxErrorStatus) return { status, value: event };
  // Without a status, the error type decides; by default it is a server error.
  return { status: /invalid_?request|bad_?request/iu.test(textOf(type)) ? 400 : 500, value: event };
}

function errorOf(value: unknown): Fields {
  const body = fieldsOf(value);
  const { error } = body;
  if (typeof error === "string") return { message: error };
  return Object.hasOwn(body, "error") ? fieldsOf(error) : body;
}

function messageOf(error: Fields): string {
  return textOf(error["message"]).slice(0, maxMessageCharacters);
}
