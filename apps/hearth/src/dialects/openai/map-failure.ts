import { formatTransferFailure, type RequestFailure } from "../../failures.ts";
import type { SamplingOptions } from "../../generation/sampling.ts";
import { adviceFor, unreadableAudioMessage, unreadableImageMessage } from "../../images/image-errors.ts";
import type { TransferFailure } from "../../models/model-failure.ts";
import { explainContextLimit } from "../../scheduling/explain-context-limit.ts";

/** The parts of an OpenAI error that depend on the failure. */
export type ErrorResponse = {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
  readonly param?: string;
  /** Otherwise the status decides. */
  readonly type?: "requests" | "tokens" | "insufficient_quota";
  readonly headers?: Readonly<Record<string, string>>;
};

export function mapFailure(failure: RequestFailure, requestId: string): ErrorResponse {
  // Each mapper takes the failure of its own kind, which the compiler cannot follow through an index.
  const map = mappers[failure.kind] as (failure: RequestFailure, requestId: string) => ErrorResponse;
  return map(failure, requestId);
}

type Mappers = {
  readonly [Kind in RequestFailure["kind"]]: (
    failure: Extract<RequestFailure, { kind: Kind }>,
    requestId: string,
  ) => ErrorResponse;
};

/** One entry per kind: a new failure does not compile until it is mapped. */
const mappers: Mappers = {
  "route-not-found": () => ({ status: 404, code: "unknown_url", message: "Unknown request URL" }),
  "method-not-allowed": ({ allowed }) => ({
    status: 405,
    code: "method_not_allowed",
    message: `Method not allowed; use ${allowed.join(" or ")}`,
    headers: { allow: allowed.join(", ") },
  }),
  "body-invalid": ({ reason }) => ({ ...bodyErrors[reason] }),
  "request-invalid": ({ field, reason }) => invalid(field, reason),
  "key-missing": () => unauthorized('Missing API key; send it as "Authorization: Bearer <key>"'),
  "key-invalid": () => unauthorized("Incorrect API key"),
  "keys-conflict": () => unauthorized("The request contains two different API keys; send only one"),
  "admin-key-required": () => ({
    status: 403,
    code: "insufficient_permissions",
    message: "An admin API key is required",
  }),
  "site-forbidden": ({ header }) => ({
    status: 403,
    code: "forbidden",
    message: `The value of the "${header}" header is not allowed`,
  }),
  "rate-limited": ({ limit, maximum, retryAfterSeconds }) => ({
    ...retryLater("rate_limit_exceeded", `Rate limit reached: ${maximum} ${limit}`, retryAfterSeconds),
    status: 429,
    type: limit === "tokens" ? "tokens" : "requests",
  }),
  "budget-exhausted": ({ period, maximum, retryAfterSeconds }) => ({
    ...retryLater(
      "insufficient_quota",
      `This API key has used its ${maximum} tokens of the ${period}`,
      retryAfterSeconds,
    ),
    status: 429,
    type: "insufficient_quota",
    headers: { "retry-after": String(retryAfterSeconds), ...doNotRetry },
  }),
  "capability-missing": ({ model, capability }) => ({
    status: 400,
    code: "unsupported_capability",
    message: `The model "${model}" does not support ${capability}${adviceFor(capability)}`,
  }),
  "parameter-out-of-range": ({ parameter, min, max }) =>
    invalid(wireNames[parameter], `must be between ${min} and ${max}`),
  "stored-object-not-found": (failure) => storedObjectNotFound(failure),
  "batch-storage-full": ({ reason }) => ({
    status: 429,
    code: "storage_limit_exceeded",
    message: `Too many files and batches: ${reason}`,
    headers: doNotRetry,
  }),
  "response-not-stored": ({ reason }) => ({
    status: 507,
    code: "response_not_stored",
    message: `Cannot write stored responses: ${reason}; to continue without them, send "store": false`,
    headers: doNotRetry,
  }),
  "name-invalid": ({ name }) => modelNotFound(name),
  "model-not-found": ({ model }) => modelNotFound(model),
  "model-remote": ({ model }) =>
    invalid("model", `is "${model}", which is hosted by its vendor; this server runs local models only`),
  "remote-models-disabled": ({ model }) => ({
    status: 403,
    param: "model",
    code: "remote_models_disabled",
    message: `The model "${model}" runs on a remote engine, and this server does not send prompts to those`,
  }),
  "digest-invalid": ({ digest }) => invalid("", `contains the invalid digest "${digest}"`),
  "parameter-invalid": ({ parameter, reason }) => invalid(parameter, `is invalid: ${reason}`),
  "model-on-remote-engine": ({ model }) => ({
    status: 409,
    message: `Cannot change the model "${model}": it runs on a remote engine`,
  }),
  "blob-missing": () => damagedModel("one of its files is missing"),
  "digest-mismatch": () => damagedModel("one of its files is corrupted"),
  "manifest-invalid": ({ reason }) => damagedModel(reason),
  "model-file-invalid": ({ reason }) => damagedModel(reason),
  "model-invalid": ({ reason }) => damagedModel(reason),
  "store-read-only": () => ({ status: 403, message: "The model store is read-only" }),
  "store-full": () => ({
    status: 507,
    message: "The model store's disk is full",
    headers: doNotRetry,
  }),
  "store-busy": () => retryLater("overloaded", "Another process is changing the model store", 5),
  "store-io-error": () => ({
    status: 500,
    message: "The model store's disk reports I/O errors",
    headers: doNotRetry,
  }),
  "model-source-missing": () => invalid("", "names no source for the model"),
  "file-dialect-unsupported": ({ advice }) => damagedModel(advice),
  "address-forbidden": (failure) => ({ status: 403, message: formatTransferFailure(failure) }),
  "registry-unreachable": registryError,
  "registry-refused": registryError,
  "remote-model-not-found": ({ model }) => modelNotFound(model),
  "registry-response-invalid": registryError,
  "transfer-corrupted": registryError,
  "server-busy": ({ retryAfterSeconds }) =>
    retryLater("overloaded", "The server is busy; try again in a moment", retryAfterSeconds),
  "queue-full": ({ waiting, retryAfterSeconds }) =>
    retryLater("overloaded", `The queue is full: ${waiting} requests are waiting`, retryAfterSeconds),
  "server-stopping": () => retryLater("overloaded", "The server is shutting down", 5),
  "engine-unloaded": () => retryLater("overloaded", "The model was unloaded while it was generating", 1),
  "model-quarantined": ({ retryAfterSeconds }) =>
    retryLater(
      "model_unavailable",
      "The model failed to load repeatedly and is temporarily disabled",
      retryAfterSeconds,
    ),
  "engines-unavailable": ({ retryAfterSeconds }) =>
    retryLater("model_unavailable", "No engine that runs the model is reachable", retryAfterSeconds),
  "insufficient-memory": () => ({
    status: 500,
    code: "insufficient_memory",
    message: "Cannot load the model: it requires more memory than the server may use",
    headers: doNotRetry,
  }),
  "load-timed-out": ({ seconds }) => ({
    status: 500,
    message: `Loading the model timed out after ${seconds} seconds`,
    headers: doNotRetry,
  }),
  "sandbox-unavailable": ({ reason }) => ({
    status: 500,
    code: "sandbox_unavailable",
    message: `Cannot run the model safely: ${reason}`,
    headers: doNotRetry,
  }),
  "engine-crashed": () => ({
    status: 500,
    code: "engine_stopped",
    message: "The engine stopped while generating",
  }),
  "engine-hung": () => ({ status: 500, code: "engine_stopped", message: "The engine stopped responding" }),
  "gpu-failed": () => ({
    status: 500,
    code: "engine_stopped",
    message: "The GPU failed; the next request runs on the CPU",
  }),
  "grammar-too-slow": ({ seconds }) =>
    invalid("response_format", `took more than ${seconds} seconds to compile; simplify the schema`),
  "grammar-rejected": () => invalid("response_format", "has stalled the model before; simplify the schema"),
  "grammars-suspended": ({ retryAfterSeconds }) => ({
    ...retryLater(
      "rate_limit_exceeded",
      "Schemas of this API key have stalled the model repeatedly",
      retryAfterSeconds,
    ),
    status: 429,
  }),
  // Gateways match the code, or the phrase "maximum context length".
  "prompt-too-long": ({ promptTokens, contextTokens, limitedBy }) => ({
    status: 400,
    code: "context_length_exceeded",
    message: `This model's maximum context length is ${contextTokens} tokens${explainContextLimit(limitedBy)}, but the prompt has ${promptTokens}; shorten it`,
  }),
  "template-failed": ({ reason }) =>
    invalid("messages", `cannot be rendered with the model's chat template: ${reason}`),
  "schema-unsupported": ({ keyword, location }) => ({
    status: 400,
    code: "unsupported_schema",
    message: `Unsupported JSON Schema: "${keyword}" at "${location}" is not supported`,
  }),
  "grammar-invalid": ({ reason }) => invalid("response_format", `is not a valid grammar: ${reason}`),
  "image-unreadable": () => ({ status: 400, code: "image_parse_error", message: unreadableImageMessage }),
  "audio-unreadable": () => ({ status: 400, code: "invalid_value", message: unreadableAudioMessage }),
  "not-supported": ({ feature }) => ({
    status: 400,
    code: "unsupported_capability",
    message: `The model's engine does not support ${feature}${adviceFor(feature)}`,
  }),
  "internal-error": (_failure, requestId) => ({
    status: 500,
    message: `Internal server error; see request ${requestId} in the server log`,
  }),
};

/** Official clients retry a 500 twice by themselves; retrying cannot help these failures. */
const doNotRetry = { "x-should-retry": "false" };

const bodyErrors = {
  missing: { status: 400, message: "The request body is empty; send a JSON object" },
  malformed: { status: 400, message: "The request body is not valid JSON" },
  "not-a-form": { status: 400, message: "The request body is not a valid multipart/form-data form" },
  "too-large": { status: 413, code: "request_too_large", message: "The request body is too large" },
  "too-deep": { status: 400, message: "The request body nests objects and arrays too deeply" },
  "too-complex": {
    status: 413,
    code: "request_too_large",
    message: "The request body has too many values",
  },
  "missing-length": {
    status: 400,
    message: "The request body does not match its Content-Length",
  },
  "encoding-not-supported": {
    status: 415,
    message: "The Content-Encoding of the request is not supported; use gzip or zstd",
  },
  "cut-off": { status: 400, message: "The request body ended unexpectedly" },
} as const;

/** OpenAI's names of the sampling options. */
const wireNames: Readonly<Record<keyof SamplingOptions, string>> = {
  temperature: "temperature",
  topK: "top_k",
  topP: "top_p",
  minP: "min_p",
  typicalP: "typical_p",
  repeatPenalty: "repeat_penalty",
  repeatLastTokens: "repeat_last_n",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  seed: "seed",
  maxTokens: "max_tokens",
  logitBias: "logit_bias",
  stops: "stop",
};

function invalid(field: string, reason: string): ErrorResponse {
  if (field === "") return { status: 400, message: `Invalid request: the body ${reason}` };
  return {
    status: 400,
    param: field,
    code: "invalid_value",
    message: `Invalid request: "${field}" ${reason}`,
  };
}

function unauthorized(message: string): ErrorResponse {
  return { status: 401, code: "invalid_api_key", message, headers: { "www-authenticate": "Bearer" } };
}

function modelNotFound(model: string): ErrorResponse {
  return {
    status: 404,
    param: "model",
    code: "model_not_found",
    message: `Model "${model}" not found; GET /v1/models lists the available models`,
  };
}

/** The names of the objects at the start of a message. */
const objectNames = {
  response: "Response",
  conversation: "Conversation",
  item: "Item",
  thread: "Thread",
  batch: "Batch",
  file: "File",
} as const;

function storedObjectNotFound({
  object,
  field,
  reason,
}: Extract<RequestFailure, { kind: "stored-object-not-found" }>): ErrorResponse {
  // Clients that match this code send the complete conversation instead.
  if (field === "previous_response_id") {
    const code = "previous_response_not_found";
    return { status: 400, param: field, code, message: `Previous response ${reason}` };
  }
  return {
    status: 404,
    ...(field === undefined ? {} : { param: field }),
    code: `${object}_not_found`,
    message: `${objectNames[object]} ${reason}`,
  };
}

function registryError(failure: TransferFailure): ErrorResponse {
  return { status: 502, code: "registry_error", message: formatTransferFailure(failure) };
}

function damagedModel(reason: string): ErrorResponse {
  return {
    status: 500,
    code: "model_broken",
    message: `Cannot load the model: ${reason}`,
    headers: doNotRetry,
  };
}

function retryLater(code: string, message: string, seconds: number): ErrorResponse {
  return { status: 503, code, message, headers: { "retry-after": String(Math.ceil(seconds)) } };
}
