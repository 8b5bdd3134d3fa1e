import { explainTransferFailure, type RequestFailure } from "../../failures.ts";
import type { SamplingWishes } from "../../generation/sampling.ts";
import { adviceFor, unreadableImage } from "../../images/image-sentences.ts";
import type { TransferFailure } from "../../models/model-failure.ts";

/** A failure in this family's words. */
export type ToldFailure = {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export function tellFailure(failure: RequestFailure, requestId: string): ToldFailure {
  // The table's entry for a kind takes the failure of that kind, which the compiler cannot follow through an index.
  const tell = sentences[failure.kind] as (failure: RequestFailure, requestId: string) => ToldFailure;
  return tell(failure, requestId);
}

type Sentences = {
  readonly [Kind in RequestFailure["kind"]]: (
    failure: Extract<RequestFailure, { kind: Kind }>,
    requestId: string,
  ) => ToldFailure;
};

/** One entry for each kind: a new failure does not compile until it has one. */
const sentences: Sentences = {
  "no-such-route": () => ({ status: 404, code: "unknown_url", message: "Cannot find anything at this URL" }),
  "method-not-allowed": ({ allowed }) => ({
    status: 405,
    code: "method_not_allowed",
    message: `Cannot use this method here; use ${allowed.join(" or ")}`,
    headers: { allow: allowed.join(", ") },
  }),
  "body-unreadable": ({ reason }) => ({ ...bodyProblems[reason] }),
  "request-invalid": ({ place, reason }) => invalid(place, reason),
  "key-missing": () => wrongKey("Cannot answer without an API key; send it as a Bearer token"),
  "key-wrong": () => wrongKey("Cannot accept this API key"),
  "keys-differ": () => wrongKey("Cannot tell which of two different API keys counts; send one"),
  "site-forbidden": ({ header }) => ({
    status: 403,
    code: "forbidden",
    message: `Cannot answer a request with this "${header}" header`,
  }),
  "capability-lacking": ({ model, capability }) => ({
    status: 400,
    code: "unsupported_capability",
    message: `The model "${model}" does not support ${capability}${adviceFor(capability)}`,
  }),
  "parameter-out-of-bounds": ({ parameter, least, most }) =>
    invalid(wireNames[parameter], `must be from ${least} to ${most}`),
  "name-invalid": ({ name }) => unknownModel(name),
  "model-not-found": ({ model }) => unknownModel(model),
  "model-remote": ({ model }) =>
    invalid("model", `names "${model}", a model on other machines, which this server does not call`),
  "digest-invalid": ({ digest }) => invalid("", `the digest "${digest}" is not valid`),
  "parameter-invalid": ({ parameter, reason }) => invalid(parameter, `cannot be used: ${reason}`),
  "model-elsewhere": ({ model }) => ({
    status: 409,
    message: `Cannot change the model "${model}": it runs on engines elsewhere`,
  }),
  "blob-missing": () => brokenModel("a part of it is missing"),
  "digest-mismatch": () => brokenModel("a part of it was changed"),
  "manifest-invalid": ({ reason }) => brokenModel(reason),
  "model-file-invalid": ({ reason }) => brokenModel(reason),
  "model-invalid": ({ reason }) => brokenModel(reason),
  "store-read-only": () => ({ status: 403, message: "Cannot change a store that is only read" }),
  "store-full": () => ({
    status: 507,
    message: "Cannot write: the store's disk is full",
    headers: failsAgain,
  }),
  "store-failing": () => ({
    status: 500,
    message: "Cannot read or write: the store's disk fails",
    headers: failsAgain,
  }),
  "model-of-nothing": () => invalid("", "Cannot make a model of nothing"),
  "file-dialect-private": ({ advice }) => brokenModel(advice),
  "address-forbidden": (failure) => ({ status: 403, message: explainTransferFailure(failure) }),
  "registry-unreachable": registryTrouble,
  "registry-refused": registryTrouble,
  "remote-model-missing": ({ model }) => unknownModel(model),
  "registry-answer-invalid": registryTrouble,
  "transfer-damaged": registryTrouble,
  "queue-full": ({ waiting, retryAfterSeconds }) =>
    later("overloaded", `Cannot queue: ${waiting} requests are waiting`, retryAfterSeconds),
  "server-stopping": () => later("overloaded", "Cannot answer: the server is stopping", 5),
  "engine-unloaded": () => later("overloaded", "Cannot finish: the model was unloaded", 1),
  "model-quarantined": ({ retryAfterSeconds }) =>
    later("model_unavailable", "Cannot load the model again so soon after it failed", retryAfterSeconds),
  "engines-unavailable": ({ retryAfterSeconds }) =>
    later("model_unavailable", "Cannot reach any engine that runs the model", retryAfterSeconds),
  "memory-lacking": () => ({
    status: 500,
    code: "insufficient_memory",
    message: "Cannot load the model: it needs more memory than the server may use",
    headers: failsAgain,
  }),
  "load-timed-out": ({ seconds }) => ({
    status: 500,
    message: `Cannot load the model within ${seconds} seconds`,
    headers: failsAgain,
  }),
  "engine-died": () => ({
    status: 500,
    code: "engine_stopped",
    message: "Cannot finish: the engine stopped",
  }),
  "engine-hung": () => ({ status: 500, code: "engine_stopped", message: "Cannot finish: the engine hung" }),
  "grammar-too-slow": ({ seconds }) =>
    invalid("response_format", `is a grammar that took the engine more than ${seconds} seconds`),
  // Gateways look for the code, or for the words "maximum context length".
  "prompt-too-long": ({ promptTokens, contextTokens }) => ({
    status: 400,
    code: "context_length_exceeded",
    message: `This model's maximum context length is ${contextTokens} tokens, but the prompt has ${promptTokens}; shorten it`,
  }),
  "template-failed": ({ reason }) =>
    invalid("messages", `cannot be put into the model's chat template: ${reason}`),
  "schema-unsupported": ({ keyword, place }) => ({
    status: 400,
    code: "unsupported_schema",
    message: `Cannot force an answer into this JSON Schema: "${keyword}" at "${place}" is not supported`,
  }),
  "grammar-invalid": ({ reason }) => invalid("response_format", `is not a usable grammar: ${reason}`),
  "image-unreadable": () => ({ status: 400, code: "image_parse_error", message: unreadableImage }),
  "not-supported": ({ feature }) => ({
    status: 400,
    code: "unsupported_capability",
    message: `This model's engine does not support ${feature}${adviceFor(feature)}`,
  }),
  defect: (_failure, requestId) => ({
    status: 500,
    message: `Cannot answer because of a fault of the server; its log names the request ${requestId}`,
  }),
};

/** Official clients send a request three times when it fails with 500; a load that failed fails again. */
const failsAgain = { "x-should-retry": "false" };

const bodyProblems = {
  missing: { status: 400, message: "Cannot answer a request without a JSON body" },
  malformed: { status: 400, message: "Cannot parse the body as JSON" },
  "too-large": { status: 413, code: "request_too_large", message: "Cannot take a body of more than 64 MB" },
  "missing-length": {
    status: 400,
    message: "Cannot take a body whose length differs from what was announced",
  },
  "cut-off": { status: 400, message: "Cannot read the body: it ended early" },
} as const;

/** What this family calls the parameters that we have our own names for. */
const wireNames: Readonly<Record<keyof SamplingWishes, string>> = {
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
  mostTokens: "max_tokens",
  logitBias: "logit_bias",
  stops: "stop",
};

function invalid(place: string, reason: string): ToldFailure {
  if (place === "") return { status: 400, message: `Cannot take the request: it ${reason}` };
  return {
    status: 400,
    param: place,
    code: "invalid_value",
    message: `Cannot take the request: "${place}" ${reason}`,
  };
}

function wrongKey(message: string): ToldFailure {
  return { status: 401, code: "invalid_api_key", message, headers: { "www-authenticate": "Bearer" } };
}

function unknownModel(model: string): ToldFailure {
  return {
    status: 404,
    param: "model",
    code: "model_not_found",
    message: `Cannot find the model "${model}"`,
  };
}

function registryTrouble(failure: TransferFailure): ToldFailure {
  return { status: 502, code: "registry_error", message: explainTransferFailure(failure) };
}

function brokenModel(reason: string): ToldFailure {
  return {
    status: 500,
    code: "model_broken",
    message: `Cannot load the model: ${reason}`,
    headers: failsAgain,
  };
}

function later(code: string, message: string, seconds: number): ToldFailure {
  return { status: 503, code, message, headers: { "retry-after": String(Math.ceil(seconds)) } };
}
