import { formatTransferFailure, type RequestFailure } from "../../failures.ts";
import type { SamplingOptions } from "../../generation/sampling.ts";
import { adviceFor, unreadableAudioMessage, unreadableImageMessage } from "../../images/image-errors.ts";
import { explainContextLimit } from "../../scheduling/explain-context-limit.ts";

/** The parts of an Anthropic error that depend on the failure. */
export type ErrorResponse = {
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What clients decide by. */
  readonly details?: Readonly<Record<string, string>>;
};

type ErrorType = keyof typeof statuses;

const statuses = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
} as const;

export function mapFailure(failure: RequestFailure): ErrorResponse {
  // Each mapper takes the failure of its own kind, which the compiler cannot follow through an index.
  const map = mappers[failure.kind] as (failure: RequestFailure) => ErrorResponse;
  return map(failure);
}

type Mappers = {
  readonly [Kind in RequestFailure["kind"]]: (
    failure: Extract<RequestFailure, { kind: Kind }>,
  ) => ErrorResponse;
};

/** One entry per kind: a new failure does not compile until it is mapped. */
const mappers: Mappers = {
  "route-not-found": () => wire("not_found_error", "Unknown request URL"),
  "method-not-allowed": ({ allowed }) => ({
    ...wire("invalid_request_error", `Method not allowed; use ${allowed.join(" or ")}`),
    status: 405,
    headers: { allow: allowed.join(", ") },
  }),
  "body-invalid": ({ reason }) => bodyErrors[reason],
  "request-invalid": (failure) => wire("invalid_request_error", formatInvalid(failure)),
  "key-missing": () => wire("authentication_error", "x-api-key header is required"),
  "key-invalid": () => wire("authentication_error", "invalid x-api-key"),
  "keys-conflict": () =>
    wire("authentication_error", "The request contains two different API keys; send only one"),
  "admin-key-required": () => wire("permission_error", "An admin API key is required"),
  "site-forbidden": ({ header }) =>
    wire("permission_error", `The value of the "${header}" header is not allowed`),
  "rate-limited": ({ limit, maximum, retryAfterSeconds }) => ({
    ...wire("rate_limit_error", `This API key has reached its rate limit of ${maximum} ${limit}`),
    headers: { "retry-after": String(retryAfterSeconds) },
  }),
  "budget-exhausted": ({ period, maximum, retryAfterSeconds }) => ({
    ...wire("rate_limit_error", `This API key has used its ${maximum} tokens of the ${period}`),
    headers: { "retry-after": String(retryAfterSeconds), "x-should-retry": "false" },
  }),
  "capability-missing": ({ model, capability }) =>
    wire(
      "invalid_request_error",
      `The model "${model}" does not support ${capability}${adviceFor(capability)}`,
    ),
  "name-invalid": ({ name }) => wire("not_found_error", `model: ${name}`),
  "model-not-found": ({ model }) => wire("not_found_error", `model: ${model}`),
  "model-remote": ({ model }) =>
    wire("not_found_error", `model: ${model} is hosted by its vendor; this server runs local models only`),
  "remote-models-disabled": ({ model }) =>
    wire(
      "permission_error",
      `model: ${model} runs on a remote engine, and this server does not send prompts to those`,
    ),
  "response-not-stored": ({ reason }) => permanent(`Cannot write stored responses: ${reason}`),
  // Retrying cannot help: the key itself has to delete something.
  "batch-storage-full": ({ reason }) => ({
    ...wire("rate_limit_error", `Too many files and batches: ${reason}`),
    headers: { "x-should-retry": "false" },
  }),
  "stored-object-not-found": ({ object, reason }) => ({
    ...wire("not_found_error", `${object} ${reason}`),
    // On this code, official clients send the whole conversation again.
    ...(object === "thread" ? { details: { error_code: "thread_not_found" } } : {}),
  }),
  "digest-invalid": ({ digest }) => wire("invalid_request_error", `Invalid digest "${digest}"`),
  "model-on-remote-engine": ({ model }) =>
    wire("invalid_request_error", `Cannot change the model "${model}": it runs on a remote engine`),
  "blob-missing": () => permanent("Cannot load the model: one of its files is missing"),
  "digest-mismatch": () => permanent("Cannot load the model: one of its files is corrupted"),
  "manifest-invalid": ({ model }) => permanent(`Cannot load the model "${model}": its manifest is corrupted`),
  "model-file-invalid": () => permanent("Cannot load the model: its file is corrupted"),
  "parameter-invalid": ({ parameter, reason }) =>
    wire("invalid_request_error", `The model's parameter "${parameter}" ${reason}`),
  "store-read-only": () => permanent("The model store is read-only"),
  "store-full": () => permanent("The model store's disk is full"),
  "store-busy": () => retryLater("Overloaded: another process is changing the model store", 5),
  "store-io-error": () => permanent("The model store's disk reports I/O errors"),
  "model-source-missing": () => wire("invalid_request_error", "The request names no source for the model"),
  "file-dialect-unsupported": ({ advice }) => permanent(`Cannot load the model: ${advice}`),
  "address-forbidden": (failure) => wire("permission_error", formatTransferFailure(failure)),
  "registry-unreachable": (failure) => wire("api_error", formatTransferFailure(failure)),
  "registry-refused": (failure) => wire("api_error", formatTransferFailure(failure)),
  "remote-model-not-found": ({ model }) => wire("not_found_error", `model: ${model}`),
  "registry-response-invalid": (failure) => wire("api_error", formatTransferFailure(failure)),
  "transfer-corrupted": (failure) => wire("api_error", formatTransferFailure(failure)),
  "parameter-out-of-range": ({ parameter, min, max }) =>
    wire("invalid_request_error", `${wireNames[parameter] ?? parameter}: must be between ${min} and ${max}`),
  "server-busy": ({ retryAfterSeconds }) =>
    retryLater("Overloaded: try again in a moment", retryAfterSeconds),
  "queue-full": ({ retryAfterSeconds }) =>
    retryLater("Overloaded: too many requests are waiting", retryAfterSeconds),
  "server-stopping": () => retryLater("Overloaded: the server is shutting down", 5),
  "model-invalid": () => permanent("Cannot load the model: the engine rejected its file"),
  "insufficient-memory": () => permanent("Cannot load the model: it requires more memory than is available"),
  "load-timed-out": ({ seconds }) =>
    wire("timeout_error", `Loading the model timed out after ${seconds} seconds`),
  "sandbox-unavailable": ({ reason }) => permanent(`Cannot run the model safely: ${reason}`),
  "engine-crashed": () => wire("api_error", "The engine stopped while generating"),
  "engine-hung": () => wire("api_error", "The engine stopped responding"),
  "gpu-failed": () => wire("api_error", "The GPU failed; the next request runs on the CPU"),
  "grammar-too-slow": () =>
    wire("invalid_request_error", "The JSON Schema took too long to compile; simplify it"),
  "grammar-rejected": () =>
    wire("invalid_request_error", "This JSON Schema has stalled the model before; simplify it"),
  "grammars-suspended": ({ retryAfterSeconds }) => ({
    ...wire("rate_limit_error", "JSON Schemas of this API key have stalled the model repeatedly"),
    headers: { "retry-after": String(retryAfterSeconds) },
  }),
  "engine-unloaded": () => retryLater("Overloaded: the model was unloaded while it was generating", 1),
  "model-quarantined": ({ retryAfterSeconds }) => ({
    ...wire("api_error", "The model crashed its engine repeatedly and is temporarily disabled"),
    headers: { "retry-after": String(Math.ceil(retryAfterSeconds)) },
  }),
  "engines-unavailable": ({ retryAfterSeconds }) =>
    retryLater("Overloaded: no engine that runs the model is reachable", retryAfterSeconds),
  // The maximum leaves room for one output token.
  "prompt-too-long": ({ promptTokens, contextTokens, limitedBy }) =>
    wire(
      "invalid_request_error",
      `prompt is too long: ${promptTokens} tokens > ${contextTokens - 1} maximum${explainContextLimit(limitedBy)}`,
    ),
  "template-failed": ({ reason }) =>
    wire("invalid_request_error", `messages: cannot be rendered with the model's chat template: ${reason}`),
  "schema-unsupported": ({ keyword, location }) =>
    wire("invalid_request_error", `Unsupported JSON Schema: "${keyword}" at "${location}" is not supported`),
  "grammar-invalid": ({ reason }) => wire("invalid_request_error", `Invalid JSON Schema: ${reason}`),
  "image-unreadable": () => wire("invalid_request_error", unreadableImageMessage),
  "audio-unreadable": () => wire("invalid_request_error", unreadableAudioMessage),
  "not-supported": ({ feature }) =>
    wire("invalid_request_error", `This model does not support ${feature}${adviceFor(feature)}`),
  "internal-error": () => wire("api_error", "Internal server error"),
};

const bodyErrors: Readonly<
  Record<Extract<RequestFailure, { kind: "body-invalid" }>["reason"], ErrorResponse>
> = {
  malformed: wire("invalid_request_error", "The request body is not valid JSON"),
  "not-a-form": wire("invalid_request_error", "The request body is not a valid multipart/form-data form"),
  missing: wire("invalid_request_error", "The request body is empty"),
  "too-large": wire("request_too_large", "Request exceeds the maximum size"),
  "too-deep": wire("invalid_request_error", "The request body nests objects and arrays too deeply"),
  "too-complex": wire("request_too_large", "The request body has too many values"),
  "missing-length": wire("invalid_request_error", "The request body does not match its Content-Length"),
  "encoding-not-supported": {
    ...wire(
      "invalid_request_error",
      "The Content-Encoding of the request is not supported; use gzip or zstd",
    ),
    status: 415,
  },
  "cut-off": wire("invalid_request_error", "The request body ended unexpectedly"),
};

const wireNames: Partial<Record<keyof SamplingOptions, string>> = {
  topK: "top_k",
  topP: "top_p",
  maxTokens: "max_tokens",
  frequencyPenalty: "frequency_penalty",
  stops: "stop_sequences",
};

function wire(type: ErrorType, message: string): ErrorResponse {
  return { type, message, status: statuses[type], headers: {} };
}

/** Retrying cannot help, so the header tells official clients not to. */
function permanent(message: string): ErrorResponse {
  return { ...wire("api_error", message), headers: { "x-should-retry": "false" } };
}

function retryLater(message: string, seconds: number): ErrorResponse {
  return { ...wire("overloaded_error", message), headers: { "retry-after": String(Math.ceil(seconds)) } };
}

const missingField = /^must have required propert(?:y|ies) (?<field>\w+)/u;

function formatInvalid({ field, reason }: { readonly field: string; readonly reason: string }): string {
  const missing = missingField.exec(reason)?.groups?.["field"];
  if (missing !== undefined) return `${field === "" ? "" : `${field}.`}${missing}: Field required`;
  return field === "" ? `The request body ${reason}` : `${field}: ${reason}`;
}
