import { type Explanation, exitCodes } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import { BodyProblem, NoSuchMethod, NoSuchRoute } from "@hearth-and-keep/http-service";
import { type EngineSetupFailure, explainEngineSetup } from "./engines/engine-programs.ts";
import type { SamplingFailure } from "./generation/sampling.ts";
import type { ModelfileFailure } from "./models/create/parse-modelfile.ts";
import type { ModelFailure, StoreFolderFailure, TransferFailure } from "./models/model-failure.ts";
import type { SchedulingFailure } from "./scheduling/failures.ts";

/** What keeps a command from doing its work. */
export type CommandFailure =
  | { readonly kind: "insecure-bind"; readonly host: string }
  | { readonly kind: "file-missing"; readonly file: string }
  | { readonly kind: "log-file-unusable"; readonly file: string; readonly reason: string }
  | StoreFolderFailure
  | EngineSetupFailure
  | ModelfileFailure
  | ModelFailure;

/** What keeps a request from being answered. Each family says it in its own words, by one exhaustive switch. */
export type RequestFailure =
  | { readonly kind: "no-such-route" }
  | { readonly kind: "method-not-allowed"; readonly allowed: readonly string[] }
  | { readonly kind: "body-unreadable"; readonly reason: BodyProblem["reason"] | "missing" }
  /** `place` is a path into the body, as in `messages.0.role`; empty for the body as a whole. */
  | { readonly kind: "request-invalid"; readonly place: string; readonly reason: string }
  | { readonly kind: "key-missing" }
  | { readonly kind: "key-wrong" }
  /** Two credentials in one request that are not the same. */
  | { readonly kind: "keys-differ" }
  | { readonly kind: "site-forbidden"; readonly header: "host" | "origin" }
  | { readonly kind: "capability-lacking"; readonly model: string; readonly capability: string }
  | ModelFailure
  | SamplingFailure
  | SchedulingFailure
  /** A fault of ours; what it was is in the log alone. */
  | { readonly kind: "defect" };

/** Names whatever was thrown while a request was being answered. */
export function asRequestFailure(problem: unknown): RequestFailure {
  if (problem instanceof NoSuchRoute) return { kind: "no-such-route" };
  if (problem instanceof NoSuchMethod) return { kind: "method-not-allowed", allowed: problem.allowed };
  if (problem instanceof BodyProblem) return { kind: "body-unreadable", reason: problem.reason };
  // Everything thrown inside a FailureError on a request's way is of this union.
  return problem instanceof FailureError ? (problem.failure as RequestFailure) : { kind: "defect" };
}

/** Whether the caller went away: nobody's failure. */
export function isHangUp(problem: unknown): boolean {
  return problem instanceof Error && problem.name === "AbortError";
}

export function requestFailure(
  failure: RequestFailure,
  options?: ErrorOptions,
): FailureError<RequestFailure> {
  return new FailureError<RequestFailure>(failure, options);
}

/** What the person at the terminal reads. */
export function explainFailure(failure: CommandFailure): Explanation {
  const next = nextSteps[failure.kind];
  return {
    sentences: [sentenceOf(failure), ...(next === undefined ? [] : [`Next: ${next}`])],
    exitCode: failure.kind === "model-not-found" ? noSuchModel : exitCodes.wrongSettings,
  };
}

/** The same as when a server says it; see docs/command-line.md. */
const noSuchModel = 5;

const nextSteps: Readonly<Partial<Record<CommandFailure["kind"], string>>> = {
  "file-missing": "look how it is spelled; a path starts from the folder you are in, or from the Modelfile's",
  "model-not-found": "hearth list shows what is there, hearth pull NAME fetches a model",
  "model-of-nothing": "hearth create NAME --from FILE.gguf, or hearth create NAME -f Modelfile, and not both",
  "modelfile-invalid": "correct that line; FROM, PARAMETER, SYSTEM and TEMPLATE are the usual words",
  "store-full": "hearth prune frees what no model needs, hearth remove MODEL frees a model",
  "store-folder-unusable": "name another folder with --models or HEARTH_MODELS, or change who owns this one",
  "log-file-unusable": "name another file with --log-file, or leave it out to have the log in the terminal",
  "store-failing": "hearth doctor looks at the store and the disk",
  "model-file-invalid": "fetch the file again; only GGUF files can be used",
};

function sentenceOf(failure: CommandFailure): string {
  switch (failure.kind) {
    case "insecure-bind":
      return `Cannot listen on ${failure.host}: other machines could use this server without a key; say --allow-insecure-bind if that is what you want`;
    case "file-missing":
      return `Cannot read "${failure.file}": there is no such file`;
    case "log-file-unusable":
      return `Cannot write the log to "${failure.file}": ${failure.reason}`;
    case "store-folder-unusable":
      return `Cannot keep models in "${failure.folder}": ${failure.reason}`;
    case "tool-missing":
    case "tool-failed":
    case "engine-missing":
      return explainEngineSetup(failure);
    case "modelfile-invalid":
      return `Cannot read line ${failure.line} of the Modelfile: ${failure.reason}`;
    case "name-invalid":
      return `Cannot use the name "${failure.name}": a name is like model, model:tag or team/model:tag`;
    case "model-not-found":
      return `There is no model "${failure.model}"`;
    case "model-remote":
      return `The model "${failure.model}" runs on somebody else's machines, which this server does not call`;
    case "model-elsewhere":
      return `Cannot change the model "${failure.model}": it runs on engines elsewhere, which the engines file names`;
    case "model-file-invalid":
      return `Cannot use the model file: ${failure.reason}`;
    case "manifest-invalid":
      return `Cannot read the model "${failure.model}": ${failure.reason}`;
    case "parameter-invalid":
      return `Cannot set "${failure.parameter}": ${failure.reason}`;
    case "digest-invalid":
      return `Cannot use "${failure.digest}": it is not a digest`;
    case "blob-missing":
      return `A part of the model is missing: ${failure.digest}`;
    case "digest-mismatch":
      return `A part of the model is not what it should be: ${failure.actual} instead of ${failure.expected}`;
    case "store-read-only":
      return "Cannot write to this store of models";
    case "store-full":
      return "Cannot write the model: the disk is full";
    case "store-failing":
      return "Cannot read or write models: the disk they are kept on fails";
    case "model-of-nothing":
      return "Cannot make a model of nothing: say which file or which model it comes from";
    case "file-dialect-private":
      return `Cannot use the model file: ${failure.advice}`;
    case "address-forbidden":
      return `Cannot call ${failure.host}: ${forbiddenAddresses[failure.reason]}`;
    case "registry-unreachable":
      return `Cannot reach ${failure.host}: ${unreachable[failure.reason]}`;
    case "registry-refused":
      return `The registry ${failure.host} refuses with status ${failure.status}`;
    case "remote-model-missing":
      return `The registry has no model "${failure.model}"`;
    case "registry-answer-invalid":
      return `Cannot understand the registry ${failure.host}: ${failure.reason}`;
    case "transfer-damaged":
      return `What arrived is not what was promised: ${failure.digest}; pull it again`;
  }
}

const forbiddenAddresses = {
  private: "it is at a private address; name it in --private-registries if that is what you want",
  plain: "plain http is for hosts in --private-registries, and the request must say that insecure is meant",
  scheme: "only https is spoken",
  redirects: "it sends from one place to the next without an end",
} as const;

const unreachable = {
  "no-address": "the name has no address",
  refused: "nobody answers there",
  "timed-out": "no answer came in time",
  broken: "the connection broke again and again",
  "untrusted-certificate": "its certificate is not to be trusted",
} as const;

/** The same for people at a terminal and at the other end of a request. */
export function explainTransferFailure(failure: TransferFailure): string {
  return sentenceOf(failure);
}
