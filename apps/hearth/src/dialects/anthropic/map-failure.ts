import { explainTransferFailure, type RequestFailure } from "../../failures.ts";
import type { SamplingWishes } from "../../generation/sampling.ts";
import { adviceFor, unreadableImage } from "../../images/image-sentences.ts";

/** What a client is told of a failure. */
export type WireError = {
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
};

type ErrorType = keyof typeof statuses;

const statuses = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
} as const;

export function explainFailure(failure: RequestFailure): WireError {
  // Each row takes the failure of its own kind, and that is the one it is found by.
  const explain = explanations[failure.kind] as (failure: RequestFailure) => WireError;
  return explain(failure);
}

type Explanations = {
  readonly [Kind in RequestFailure["kind"]]: (failure: Extract<RequestFailure, { kind: Kind }>) => WireError;
};

const explanations: Explanations = {
  "no-such-route": () => wire("not_found_error", "Cannot find this path"),
  "method-not-allowed": ({ allowed }) => ({
    ...wire("invalid_request_error", `Cannot use this method here, only ${allowed.join(", ")}`),
    status: 405,
    headers: { allow: allowed.join(", ") },
  }),
  "body-unreadable": ({ reason }) => bodyProblems[reason],
  "request-invalid": (failure) => wire("invalid_request_error", describeInvalid(failure)),
  "key-missing": () => wire("authentication_error", "x-api-key header is required"),
  "key-wrong": () => wire("authentication_error", "invalid x-api-key"),
  "keys-differ": () => wire("authentication_error", "Cannot take two different keys in one request"),
  "site-forbidden": ({ header }) => wire("permission_error", `Cannot answer: this ${header} is not allowed`),
  "capability-lacking": ({ model, capability }) =>
    wire(
      "invalid_request_error",
      `The model "${model}" does not support ${capability}${adviceFor(capability)}`,
    ),
  "name-invalid": ({ name }) => wire("not_found_error", `model: ${name}`),
  "model-not-found": ({ model }) => wire("not_found_error", `model: ${model}`),
  "model-remote": ({ model }) => wire("not_found_error", `model: ${model} runs on another server`),
  "digest-invalid": ({ digest }) => wire("invalid_request_error", `Cannot read the digest "${digest}"`),
  "model-elsewhere": ({ model }) =>
    wire("invalid_request_error", `Cannot change the model "${model}": it runs on engines elsewhere`),
  "blob-missing": () => lasting("Cannot load the model: one of its files is missing"),
  "digest-mismatch": () => lasting("Cannot load the model: one of its files is damaged"),
  "manifest-invalid": ({ model }) => lasting(`Cannot load the model "${model}": its manifest is damaged`),
  "model-file-invalid": () => lasting("Cannot load the model: its file is damaged"),
  "parameter-invalid": ({ parameter, reason }) =>
    wire("invalid_request_error", `The model's parameter "${parameter}" ${reason}`),
  "store-read-only": () => lasting("Cannot change the store: it is only read"),
  "store-full": () => lasting("Cannot write: the store is full"),
  "store-failing": () => lasting("Cannot read or write: the disk of the store fails"),
  "model-of-nothing": () => wire("invalid_request_error", "Cannot make a model of nothing"),
  "file-dialect-private": ({ advice }) => lasting(`Cannot load the model: ${advice}`),
  "address-forbidden": (failure) => wire("permission_error", explainTransferFailure(failure)),
  "registry-unreachable": (failure) => wire("api_error", explainTransferFailure(failure)),
  "registry-refused": (failure) => wire("api_error", explainTransferFailure(failure)),
  "remote-model-missing": ({ model }) => wire("not_found_error", `model: ${model}`),
  "registry-answer-invalid": (failure) => wire("api_error", explainTransferFailure(failure)),
  "transfer-damaged": (failure) => wire("api_error", explainTransferFailure(failure)),
  "parameter-out-of-bounds": ({ parameter, least, most }) =>
    wire("invalid_request_error", `${wireNames[parameter] ?? parameter}: must be from ${least} to ${most}`),
  "queue-full": ({ retryAfterSeconds }) =>
    later("Overloaded: too many requests are waiting", retryAfterSeconds),
  "server-stopping": () => later("Overloaded: the server is stopping", 5),
  "model-invalid": () => lasting("Cannot load the model: the engine refuses its file"),
  "memory-lacking": () => lasting("Cannot load the model: it needs more memory than there is"),
  "load-timed-out": ({ seconds }) => wire("timeout_error", `Cannot load the model within ${seconds} seconds`),
  "engine-died": () => wire("api_error", "Cannot finish: the engine stopped"),
  "engine-hung": () => wire("api_error", "Cannot finish: the engine no longer answered"),
  "grammar-too-slow": () => wire("invalid_request_error", "Cannot follow the schema: it takes too long"),
  "engine-unloaded": () => later("Overloaded: the model was unloaded", 1),
  "model-quarantined": ({ retryAfterSeconds }) => ({
    ...wire("api_error", "Cannot load the model: it stopped the engine several times"),
    headers: { "retry-after": String(Math.ceil(retryAfterSeconds)) },
  }),
  "engines-unavailable": ({ retryAfterSeconds }) =>
    later("Overloaded: no engine that runs the model can be reached", retryAfterSeconds),
  // A prompt as long as the context leaves no room for a single token.
  "prompt-too-long": ({ promptTokens, contextTokens }) =>
    wire(
      "invalid_request_error",
      `prompt is too long: ${promptTokens} tokens > ${contextTokens - 1} maximum`,
    ),
  "template-failed": ({ reason }) =>
    wire("invalid_request_error", `The model's template cannot show these messages: ${reason}`),
  "schema-unsupported": ({ keyword, place }) =>
    wire("invalid_request_error", `Cannot follow the schema: "${keyword}" at "${place}" is not supported`),
  "grammar-invalid": ({ reason }) => wire("invalid_request_error", `Cannot follow the schema: ${reason}`),
  "image-unreadable": () => wire("invalid_request_error", unreadableImage),
  "not-supported": ({ feature }) =>
    wire("invalid_request_error", `This model does not support ${feature}${adviceFor(feature)}`),
  defect: () => wire("api_error", "Internal server error"),
};

const bodyProblems: Readonly<
  Record<Extract<RequestFailure, { kind: "body-unreadable" }>["reason"], WireError>
> = {
  malformed: wire("invalid_request_error", "The request body is not valid JSON"),
  missing: wire("invalid_request_error", "The request body is empty"),
  "too-large": wire("request_too_large", "Request exceeds the maximum size"),
  "missing-length": wire("invalid_request_error", "The request body does not have the length it says"),
  "cut-off": wire("invalid_request_error", "The request body ends too early"),
};

const wireNames: Partial<Record<keyof SamplingWishes, string>> = {
  topK: "top_k",
  topP: "top_p",
  mostTokens: "max_tokens",
  frequencyPenalty: "frequency_penalty",
  stops: "stop_sequences",
};

function wire(type: ErrorType, message: string): WireError {
  return { type, message, status: statuses[type], headers: {} };
}

/** Nothing changes by asking again, so clients that would do it by themselves are told not to. */
function lasting(message: string): WireError {
  return { ...wire("api_error", message), headers: { "x-should-retry": "false" } };
}

function later(message: string, seconds: number): WireError {
  return { ...wire("overloaded_error", message), headers: { "retry-after": String(Math.ceil(seconds)) } };
}

const missingField = /^must have required propert(?:y|ies) (?<field>\w+)/u;

function describeInvalid({ place, reason }: { readonly place: string; readonly reason: string }): string {
  const field = missingField.exec(reason)?.groups?.["field"];
  if (field !== undefined) return `${place === "" ? "" : `${place}.`}${field}: Field required`;
  return place === "" ? `The request ${reason}` : `${place}: ${reason}`;
}
