import type { Explanation } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import {
  BodyBudgetError,
  BodyError,
  InvalidRequestError,
  MethodNotAllowedError,
  RouteNotFoundError,
} from "@hearth-and-keep/http-service";
import { type EngineSetupFailure, formatEngineSetupFailure } from "./engines/engine-programs.ts";
import type { SamplingFailure } from "./generation/sampling.ts";
import type { ModelfileFailure } from "./models/create/parse-modelfile.ts";
import type {
  ModelFailure,
  RemoteRefusal,
  StoreFolderFailure,
  TransferFailure,
} from "./models/model-failure.ts";
import type { SchedulingFailure } from "./scheduling/failures.ts";
import { exitCodes } from "./terminal/exit-codes.ts";

/** Expected failures of a command, printed by `explainFailure`. */
export type CommandFailure =
  | { readonly kind: "insecure-bind"; readonly host: string }
  | { readonly kind: "file-missing"; readonly file: string }
  | { readonly kind: "log-file-unusable"; readonly file: string; readonly reason: string }
  | { readonly kind: "response-folder-unusable"; readonly folder: string; readonly reason: string }
  | { readonly kind: "prompt-cache-unusable"; readonly folder: string; readonly reason: string }
  | StoreFolderFailure
  | EngineSetupFailure
  | ModelfileFailure
  | ModelFailure;

/** Expected failures of a request. Each dialect maps every kind in its `map-failure.ts`, or does not compile. */
export type RequestFailure =
  | { readonly kind: "route-not-found" }
  | { readonly kind: "method-not-allowed"; readonly allowed: readonly string[] }
  | { readonly kind: "body-invalid"; readonly reason: BodyError["reason"] }
  /** `field` is a path into the body, e.g. `messages.0.role`; empty for the body as a whole. */
  | { readonly kind: "request-invalid"; readonly field: string; readonly reason: string }
  | { readonly kind: "key-missing" }
  | { readonly kind: "key-invalid" }
  /** One request carries two different credentials. */
  | { readonly kind: "keys-conflict" }
  /** The key is for inference only. */
  | { readonly kind: "admin-key-required" }
  | { readonly kind: "site-forbidden"; readonly header: "host" | "origin" }
  /** A limit per minute, or of requests at the same time, that the key has reached. */
  | {
      readonly kind: "rate-limited";
      readonly limit: "requests" | "tokens" | "concurrent requests";
      readonly maximum: number;
      readonly retryAfterSeconds: number;
    }
  /** The tokens of the key for a day or a month are used up, or reserved by its running requests. */
  | {
      readonly kind: "budget-exhausted";
      readonly period: "day" | "month";
      readonly maximum: number;
      readonly retryAfterSeconds: number;
    }
  | { readonly kind: "capability-missing"; readonly model: string; readonly capability: string }
  /** An id that this key has nothing stored under. `field` names it, unless it is in the URL. */
  | {
      readonly kind: "stored-object-not-found";
      readonly object: "response" | "conversation" | "item" | "thread" | "batch" | "file";
      readonly field?: string;
      readonly reason: string;
    }
  /** The files and batches of a key, or of all keys, have reached a limit. */
  | { readonly kind: "batch-storage-full"; readonly reason: string }
  /** The folder of stored responses cannot be written; the request was not carried out completely. */
  | { readonly kind: "response-not-stored"; readonly reason: string }
  /** There is no memory for another large body, or the client stopped reading while others wait for its slot. */
  | { readonly kind: "server-busy"; readonly retryAfterSeconds: number }
  | ModelFailure
  | RemoteRefusal
  | SamplingFailure
  | SchedulingFailure
  /** A bug in this server. Its details are logged and never sent to the client. */
  | { readonly kind: "internal-error" };

/** Classifies whatever a request handler threw. */
export function toRequestFailure(error: unknown): RequestFailure {
  if (error instanceof RouteNotFoundError) return { kind: "route-not-found" };
  if (error instanceof MethodNotAllowedError) return { kind: "method-not-allowed", allowed: error.allowed };
  if (error instanceof BodyError) return { kind: "body-invalid", reason: error.reason };
  if (error instanceof BodyBudgetError) return { kind: "server-busy", retryAfterSeconds: 1 };
  if (error instanceof InvalidRequestError) {
    const [first] = error.errors;
    return { kind: "request-invalid", field: first?.field ?? "", reason: first?.reason ?? "is not valid" };
  }
  // Request handlers throw no FailureError outside this union.
  return error instanceof FailureError ? (error.failure as RequestFailure) : { kind: "internal-error" };
}

/** Whether the request was aborted because its client disconnected. */
export function isClientDisconnect(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

export function requestFailure(
  failure: RequestFailure,
  options?: ErrorOptions,
): FailureError<RequestFailure> {
  return new FailureError<RequestFailure>(failure, options);
}

/** Rejects one field of a request body. An empty `field` rejects the body as a whole. */
export function invalidField(field: string, reason: string): FailureError<RequestFailure> {
  return requestFailure({ kind: "request-invalid", field, reason });
}

/** The messages and exit code that the terminal shows for a failed command. */
export function explainFailure(failure: CommandFailure): Explanation {
  const next = nextSteps[failure.kind];
  return {
    messages: [messageOf(failure), ...(next === undefined ? [] : [`Next: ${next}`])],
    exitCode: failure.kind === "model-not-found" ? exitCodes.modelNotFound : exitCodes.usage,
  };
}

/** For failures of commands only; the others have a code, and `nextStepFor` of the contract decides. */
const nextSteps: Readonly<Partial<Record<CommandFailure["kind"], string>>> = {
  "file-missing":
    "check the spelling; paths are relative to the current folder, or to the Modelfile's folder",
  "modelfile-invalid": "fix that line; common instructions are FROM, PARAMETER, SYSTEM and TEMPLATE",
  "store-folder-unusable":
    "choose another folder with --models or HEARTH_MODELS, or fix the permissions of this one",
  "response-folder-unusable":
    "fix the permissions, or choose another folder with --response-folder; without it, responses are kept in memory",
  "prompt-cache-unusable":
    "fix the permissions, or choose another folder with --prompt-cache-dir; without it, prompts are evaluated again",
  "log-file-unusable": "choose another file with --log-file, or omit it to log to the terminal",
};

const folderContents = {
  "response-folder-unusable": "responses",
  "prompt-cache-unusable": "evaluated prompts",
  "store-folder-unusable": "models",
} as const;

function messageOf(failure: CommandFailure): string {
  switch (failure.kind) {
    case "insecure-bind":
      return `Cannot listen on ${failure.host}: other machines could use this server without an API key; set --api-key, or pass --allow-insecure-bind to allow it`;
    case "file-missing":
      return `Cannot read "${failure.file}": file not found`;
    case "log-file-unusable":
      return `Cannot write the log to "${failure.file}": ${failure.reason}`;
    case "response-folder-unusable":
    case "prompt-cache-unusable":
    case "store-folder-unusable":
      return `Cannot store ${folderContents[failure.kind]} in "${failure.folder}": ${failure.reason}`;
    case "tool-missing":
    case "tool-failed":
    case "engine-missing":
    case "self-test-failed":
      return formatEngineSetupFailure(failure);
    case "modelfile-invalid":
      return `Cannot read line ${failure.line} of the Modelfile: ${failure.reason}`;
    case "name-invalid":
      return `Invalid model name "${failure.name}": use the form model, model:tag or namespace/model:tag`;
    case "model-not-found":
      return `Model "${failure.model}" not found`;
    case "model-remote":
      return `The model "${failure.model}" is hosted by its vendor; this server runs local models only`;
    case "model-on-remote-engine":
      return `Cannot change the model "${failure.model}": it runs on a remote engine; change the engines file instead`;
    case "model-file-invalid":
      return `Cannot use the model file: ${failure.reason}`;
    case "manifest-invalid":
      return `Cannot read the model "${failure.model}": ${failure.reason}`;
    case "parameter-invalid":
      return `Cannot set "${failure.parameter}": ${failure.reason}`;
    case "digest-invalid":
      return `Invalid digest "${failure.digest}"`;
    case "blob-missing":
      return `A file of the model is missing: ${failure.digest}`;
    case "digest-mismatch":
      return `A file of the model is corrupted: expected ${failure.expected}, got ${failure.actual}`;
    case "store-read-only":
      return "Cannot write to this model store: it is read-only";
    case "store-full":
      return "Cannot write the model: the disk is full";
    case "store-busy":
      return "Cannot change the model store: another process has been changing it for a minute";
    case "store-io-error":
      return "Cannot read or write models: the disk reports I/O errors";
    case "model-source-missing":
      return "Cannot create a model without a source: name a file or another model";
    case "file-dialect-unsupported":
      return `Cannot use the model file: ${failure.advice}`;
    case "address-forbidden":
    case "registry-unreachable":
    case "registry-refused":
    case "remote-model-not-found":
    case "registry-response-invalid":
    case "transfer-corrupted":
      return formatTransferFailure(failure);
  }
}

/** The message of a transfer failure, shared by the terminal and the API. */
export function formatTransferFailure(failure: TransferFailure): string {
  switch (failure.kind) {
    case "address-forbidden":
      return `Cannot call ${failure.host}: ${forbiddenAddresses[failure.reason]}`;
    case "registry-unreachable":
      return `Cannot reach ${failure.host}: ${unreachable[failure.reason]}`;
    case "registry-refused":
      return `The registry ${failure.host} rejected the request with status ${failure.status}`;
    case "remote-model-not-found":
      return `The registry has no model "${failure.model}"`;
    case "registry-response-invalid":
      return `Invalid response from the registry ${failure.host}: ${failure.reason}`;
    case "transfer-corrupted":
      return `Downloaded data does not match its digest ${failure.digest}; pull the model again`;
  }
}

const forbiddenAddresses = {
  private: "it resolves to a private address; add it to --private-registries to allow it",
  plain: 'plain HTTP requires the host in --private-registries and "insecure" in the request',
  scheme: "only HTTPS is supported",
  redirects: "too many redirects",
} as const;

const unreachable = {
  "no-address": "the host name does not resolve",
  refused: "connection refused",
  "timed-out": "timed out",
  broken: "the connection keeps failing",
  "untrusted-certificate": "its TLS certificate is not trusted",
} as const;
