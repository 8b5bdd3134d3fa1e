import type { ErrorDetails, FailureCode } from "@hearth-and-keep/hearth-contract";
import type { RequestHead } from "@hearth-and-keep/http-service";
import { formatTransferFailure, type RequestFailure } from "../../failures.ts";
import { adviceFor, unreadableAudioMessage, unreadableImageMessage } from "../../images/image-errors.ts";
import { displayModelName, namePath, tryParseModelName } from "../../models/model-name.ts";
import { explainContextLimit } from "../../scheduling/explain-context-limit.ts";
import { optionNameOf } from "./read-options.ts";

/** `details` become fields of the error object, in addition to `error` and `code`. */
export type ErrorResponse = {
  readonly status: number;
  readonly message: string;
  readonly details?: ErrorDetails;
  readonly headers?: Readonly<Record<string, string>>;
};

type Mapper<Kind extends RequestFailure["kind"]> = (
  failure: Extract<RequestFailure, { kind: Kind }>,
  head: RequestHead,
) => ErrorResponse;

/** Ollama clients match some of Ollama's messages, so those are copied verbatim; the others are our own. */
export function mapFailure(
  failure: RequestFailure,
  head: RequestHead,
): ErrorResponse & { readonly code: FailureCode } {
  // The mapper is looked up by the kind of the failure it receives.
  const map = mappers[failure.kind] as Mapper<RequestFailure["kind"]>;
  return { ...map(failure, head), code: failure.kind };
}

const busyMessage = "server busy, please try again.  maximum pending requests exceeded";
const crashMessage =
  "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error";

// One mapper per code of the contract, for a failure of that kind: a code without a failure does not compile here, and
// a failure without a code does not compile in `mapFailure`.
const mappers: { readonly [Code in FailureCode]: Mapper<Code> } = {
  "route-not-found": () => ({ status: 404, message: "404 page not found" }),
  "method-not-allowed": ({ allowed }) => ({
    status: 405,
    message: "405 method not allowed",
    headers: { allow: allowed.join(", ") },
  }),
  "body-invalid": ({ reason }) => ({ ...bodyErrors[reason], details: { reason } }),
  "request-invalid": ({ field, reason }) => badRequest(field === "" ? reason : `${field} ${reason}`),
  "key-missing": unauthorized,
  "key-invalid": unauthorized,
  "keys-conflict": unauthorized,
  "admin-key-required": () => ({ status: 403, message: "forbidden: an admin key is required" }),
  "site-forbidden": ({ header }) => ({ status: 403, message: `forbidden: this ${header} is not allowed` }),
  "rate-limited": ({ limit, maximum, retryAfterSeconds }) => ({
    ...unavailable(`rate limit of ${maximum} ${limit} reached`, retryAfterSeconds),
    status: 429,
  }),
  "budget-exhausted": ({ period, maximum, retryAfterSeconds }) => ({
    ...unavailable(`this key has used its ${maximum} tokens of the ${period}`, retryAfterSeconds),
    status: 429,
  }),
  "capability-missing": ({ model, capability }) =>
    badRequest(`${nameForCapability(model, capability)} does not support ${capability}`, {
      model,
      capability,
    }),
  "name-invalid": ({ name }) =>
    name === "" ? { status: 404, message: "model '' not found" } : badRequest("invalid model name"),
  "response-not-stored": ({ reason }) => ({
    status: 507,
    message: `cannot write stored responses: ${reason}`,
  }),
  "batch-storage-full": ({ reason }) => ({ status: 429, message: `too many files and batches: ${reason}` }),
  "stored-object-not-found": ({ object, reason }) => ({ status: 404, message: `${object} ${reason}` }),
  "digest-invalid": () => badRequest("invalid digest format"),
  "model-not-found": ({ model }, { path }) => ({
    status: 404,
    message: notFoundMessage(model, path),
    details: { model },
  }),
  "model-remote": ({ model }) =>
    badRequest(`model ${JSON.stringify(model)} is a cloud model; this server runs local models only`, {
      model,
    }),
  "remote-models-disabled": ({ model }) => ({
    status: 403,
    message: `model ${JSON.stringify(model)} runs on a remote engine; this server does not send prompts to those`,
    details: { model },
  }),
  "blob-missing": ({ digest }, { path }) => ({
    status: path.startsWith("/api/blobs/") ? 404 : path === "/api/create" ? 400 : 500,
    message: `blob ${JSON.stringify(digest)} not found`,
  }),
  "digest-mismatch": ({ expected, actual }) =>
    badRequest(`digest mismatch, expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`),
  "manifest-invalid": ({ model, reason }) =>
    serverError(`model ${JSON.stringify(model)} is corrupt: ${reason}`, { model }),
  "model-file-invalid": ({ reason }, { path }) =>
    path === "/api/create" ? badRequest(reason) : serverError(`unable to load model: ${reason}`),
  "parameter-invalid": ({ parameter, reason }) =>
    badRequest(`parameter ${JSON.stringify(parameter)}: ${reason}`),
  "model-on-remote-engine": ({ model }) =>
    badRequest(`cannot change model '${model}': it runs on a remote engine`, { model }),
  "store-read-only": () => ({ status: 403, message: "this model is in a read-only store" }),
  "store-full": () => ({ status: 507, message: "no space left for the model" }),
  "store-busy": () => unavailable("another process is changing the model store, please try again", 5),
  "store-io-error": () => serverError("disk error in the model store"),
  "model-source-missing": () => badRequest("neither 'from' or 'files' was specified"),
  "file-dialect-unsupported": ({ advice }) => badRequest(advice),
  "address-forbidden": (failure) => ({
    status: 403,
    message: formatTransferFailure(failure),
    details: { host: failure.host, reason: failure.reason },
  }),
  "registry-unreachable": badGateway,
  "registry-refused": badGateway,
  "remote-model-not-found": ({ model }) => serverError("pull model manifest: file does not exist", { model }),
  "registry-response-invalid": badGateway,
  "transfer-corrupted": () => ({ status: 502, message: "digest mismatch, file must be downloaded again" }),
  "parameter-out-of-range": ({ parameter, min, max }) =>
    badRequest(`option "${optionNameOf(parameter)}" must be between ${min} and ${max}`),
  "server-busy": ({ retryAfterSeconds }) => unavailable("server busy, please try again", retryAfterSeconds),
  "queue-full": ({ retryAfterSeconds }) => unavailable(busyMessage, retryAfterSeconds),
  "server-stopping": () => unavailable("server is stopping, please try again", 5),
  "model-invalid": ({ reason }) => serverError(`unable to load model: ${reason}`),
  "insufficient-memory": ({ neededBytes }) =>
    serverError(memoryMessage(neededBytes), neededBytes === null ? {} : { needed_bytes: neededBytes }),
  "load-timed-out": ({ seconds }) =>
    serverError(`timed out waiting for the model to load after ${seconds} s`),
  "sandbox-unavailable": ({ reason }) => serverError(`unable to run the model safely: ${reason}`),
  "engine-crashed": () => serverError(crashMessage),
  "engine-hung": () => serverError(crashMessage),
  "gpu-failed": () => serverError("the GPU failed, the next request runs on the CPU"),
  "grammar-too-slow": ({ seconds }) => badRequest(`applying the format took more than ${seconds} s`),
  "grammar-rejected": () => badRequest("applying this format has stalled the model before"),
  "grammars-suspended": ({ retryAfterSeconds }) => ({
    ...unavailable("formats of this key have stalled the model repeatedly", retryAfterSeconds),
    status: 429,
  }),
  "engine-unloaded": () => unavailable("model was unloaded during the request, please try again", 1),
  "model-quarantined": ({ reason, retryAfterSeconds }) =>
    unavailable(`model crashed repeatedly: ${reason}`, retryAfterSeconds),
  "engines-unavailable": ({ retryAfterSeconds }) =>
    unavailable("none of the model's remote engines is reachable", retryAfterSeconds),
  "prompt-too-long": ({ promptTokens, contextTokens, limitedBy }, { path }) =>
    badRequest(tooLongMessage(promptTokens - contextTokens, path) + explainContextLimit(limitedBy), {
      prompt_tokens: promptTokens,
      context_tokens: contextTokens,
      ...(limitedBy === undefined ? {} : { reason: limitedBy }),
    }),
  "template-failed": ({ reason }) => badRequest(`template: ${reason}`),
  "schema-unsupported": ({ keyword, location }) =>
    badRequest(`invalid JSON schema in format: ${JSON.stringify(keyword)} is not supported at "${location}"`),
  "grammar-invalid": ({ reason }) => badRequest(`invalid JSON schema in format: ${reason}`),
  "image-unreadable": () => badRequest(unreadableImageMessage),
  "audio-unreadable": () => badRequest(unreadableAudioMessage),
  "not-supported": ({ feature }) =>
    badRequest(`this model does not support ${feature}${adviceFor(feature)}`, { capability: feature }),
  "internal-error": () => serverError("internal server error"),
};

const bodyErrors = {
  missing: badRequest("missing request body"),
  malformed: badRequest("the request body is not valid JSON"),
  "not-a-form": badRequest("the request body is not a valid form"),
  "too-large": { status: 413, message: "the request body is too large" },
  "too-deep": badRequest("the request body nests objects and arrays too deeply"),
  "too-complex": { status: 413, message: "the request body has too many values" },
  "missing-length": badRequest("invalid Content-Length"),
  "encoding-not-supported": {
    status: 415,
    message: "the Content-Encoding of the request is not supported; use gzip or zstd",
  },
  "cut-off": badRequest("unexpected EOF"),
} as const;

function badRequest(message: string, details: ErrorDetails = {}): ErrorResponse {
  return { status: 400, message, details };
}

function serverError(message: string, details: ErrorDetails = {}): ErrorResponse {
  return { status: 500, message, details };
}

function badGateway(
  failure: Extract<RequestFailure, { kind: `registry-${string}`; host: string }>,
): ErrorResponse {
  return { status: 502, message: formatTransferFailure(failure), details: { host: failure.host } };
}

function unavailable(message: string, retryAfterSeconds: number): ErrorResponse {
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds));
  return {
    status: 503,
    message,
    details: { retry_after_seconds: seconds },
    headers: { "retry-after": String(seconds) },
  };
}

/** Basic only for a page load, where the browser asks for the password; for a script's request it would open a dialog. */
function unauthorized(_failure: RequestFailure, { headers }: RequestHead): ErrorResponse {
  const isPageLoad = String(headers["accept"] ?? "").includes("text/html");
  const challenge = isPageLoad ? 'Basic realm="Hearth", charset="UTF-8"' : "Bearer";
  return { status: 401, message: "unauthorized", headers: { "www-authenticate": challenge } };
}

const capabilitiesByShortName = new Set(["chat", "generate", "thinking"]);

/** Ollama reports some capabilities with the name as requested, and others with the full name. */
function nameForCapability(model: string, capability: string): string {
  if (capabilitiesByShortName.has(capability)) return JSON.stringify(model);
  const name = tryParseModelName(model);
  if (name === undefined) return JSON.stringify(model);
  const path = namePath(name);
  return `${path.slice(0, -1).join("/")}:${path.at(-1)}`;
}

/** Some clients pull a model when they see "try pulling it first", so it is used only where a pull would help. */
function notFoundMessage(model: string, path: string): string {
  if (path === "/api/copy" || path === "/api/push") return `model ${JSON.stringify(model)} not found`;
  if (path === "/api/delete") return `model '${model}' not found`;
  if (path === "/api/show") return `model '${withTag(model)}' not found`;
  return `model ${JSON.stringify(model)} not found, try pulling it first`;
}

/** Ollama resolves the name first, so its message contains the tag. */
function withTag(model: string): string {
  const name = tryParseModelName(model);
  return name === undefined ? model : displayModelName(name);
}

function memoryMessage(neededBytes: number | null): string {
  const need = neededBytes === null ? "" : ` (${(neededBytes / 1024 ** 3).toFixed(1)} GiB)`;
  return `model requires more system memory${need} than is available`;
}

function tooLongMessage(surplusTokens: number, path: string): string {
  return path.startsWith("/api/embed")
    ? "the input length exceeds the context length"
    : `prompt too long; exceeded max context length by ${Math.max(1, surplusTokens)} tokens`;
}
