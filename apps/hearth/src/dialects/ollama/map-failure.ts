import type { CallHead } from "@hearth-and-keep/http-service";
import { explainTransferFailure, type RequestFailure } from "../../failures.ts";
import { adviceFor, unreadableImage } from "../../images/image-sentences.ts";
import { displayModelName, namePath, readModelName } from "../../models/model-name.ts";
import { optionNamed } from "./reading/options.ts";

export type FailureWords = {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
};

type Wording<Kind> = (failure: Extract<RequestFailure, { kind: Kind }>, head: CallHead) => FailureWords;

/** Texts that clients of this family look for stand here letter by letter; the others are our own. */
export function wordsFor(failure: RequestFailure, head: CallHead): FailureWords {
  // Each wording is found by the kind of the very failure it is given.
  const wording = wordings[failure.kind] as Wording<RequestFailure["kind"]>;
  return wording(failure, head);
}

const busyText = "server busy, please try again.  maximum pending requests exceeded";
const crashText =
  "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error";

const wordings: { readonly [Kind in RequestFailure["kind"]]: Wording<Kind> } = {
  "no-such-route": () => ({ status: 404, text: "404 page not found" }),
  "method-not-allowed": ({ allowed }) => ({
    status: 405,
    text: "405 method not allowed",
    headers: { allow: allowed.join(", ") },
  }),
  "body-unreadable": ({ reason }) => bodyWords[reason],
  "request-invalid": ({ place, reason }) => refused(place === "" ? reason : `${place} ${reason}`),
  "key-missing": unauthorized,
  "key-wrong": unauthorized,
  "keys-differ": unauthorized,
  "site-forbidden": ({ header }) => ({ status: 403, text: `forbidden: this ${header} is not allowed` }),
  "capability-lacking": ({ model, capability }) =>
    refused(`${nameForCapability(model, capability)} does not support ${capability}`),
  "name-invalid": ({ name }) =>
    name === "" ? { status: 404, text: "model '' not found" } : refused("invalid model name"),
  "digest-invalid": () => refused("invalid digest format"),
  "model-not-found": ({ model }, { path }) => ({ status: 404, text: notFoundText(model, path) }),
  "model-remote": ({ model }) =>
    refused(`model ${JSON.stringify(model)} runs on its maker's machines, which this server does not call`),
  "blob-missing": ({ digest }, { path }) => ({
    status: path.startsWith("/api/blobs/") ? 404 : path === "/api/create" ? 400 : 500,
    text: `blob ${JSON.stringify(digest)} not found`,
  }),
  "digest-mismatch": ({ expected, actual }) =>
    refused(`digest mismatch, expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`),
  "manifest-invalid": ({ model, reason }) => broken(`model ${JSON.stringify(model)} is damaged: ${reason}`),
  "model-file-invalid": ({ reason }, { path }) =>
    path === "/api/create" ? refused(reason) : broken(`unable to load model: ${reason}`),
  "parameter-invalid": ({ parameter, reason }) =>
    refused(`parameter ${JSON.stringify(parameter)}: ${reason}`),
  "model-elsewhere": ({ model }) =>
    refused(`cannot change the model '${model}': it runs on engines elsewhere`),
  "store-read-only": () => ({ status: 403, text: "this model is in a store that is only read" }),
  "store-full": () => ({ status: 507, text: "no space left for the model" }),
  "store-failing": () => broken("the disk that models are kept on fails"),
  "model-of-nothing": () => refused("neither 'from' or 'files' was specified"),
  "file-dialect-private": ({ advice }) => refused(advice),
  "address-forbidden": (failure) => ({ status: 403, text: explainTransferFailure(failure) }),
  "registry-unreachable": (failure) => ({ status: 502, text: explainTransferFailure(failure) }),
  "registry-refused": (failure) => ({ status: 502, text: explainTransferFailure(failure) }),
  "remote-model-missing": () => broken("pull model manifest: file does not exist"),
  "registry-answer-invalid": (failure) => ({ status: 502, text: explainTransferFailure(failure) }),
  "transfer-damaged": () => ({ status: 502, text: "digest mismatch, file must be downloaded again" }),
  "parameter-out-of-bounds": ({ parameter, least, most }) =>
    refused(`option "${optionNamed(parameter)}" must be from ${least} to ${most}`),
  "queue-full": ({ retryAfterSeconds }) => busy(busyText, retryAfterSeconds),
  "server-stopping": () => busy("server is stopping, please try again", 5),
  "model-invalid": ({ reason }) => broken(`unable to load model: ${reason}`),
  "memory-lacking": ({ neededBytes }) => broken(memoryText(neededBytes)),
  "load-timed-out": ({ seconds }) => broken(`timed out waiting for the model to load after ${seconds} s`),
  "engine-died": () => broken(crashText),
  "engine-hung": () => broken(crashText),
  "grammar-too-slow": ({ seconds }) => refused(`format took more than ${seconds} s to apply`),
  "engine-unloaded": () => busy("model was unloaded while it answered, please try again", 1),
  "model-quarantined": ({ reason, retryAfterSeconds }) =>
    busy(`model stopped too often: ${reason}`, retryAfterSeconds),
  "engines-unavailable": ({ retryAfterSeconds }) =>
    busy("no engine that runs the model can be reached", retryAfterSeconds),
  "prompt-too-long": ({ promptTokens, contextTokens }, { path }) =>
    refused(tooLongText(promptTokens - contextTokens, path)),
  "template-failed": ({ reason }) => refused(`template: ${reason}`),
  "schema-unsupported": ({ keyword, place }) =>
    refused(`invalid JSON schema in format: ${JSON.stringify(keyword)} is not supported at "${place}"`),
  "grammar-invalid": ({ reason }) => refused(`invalid JSON schema in format: ${reason}`),
  "image-unreadable": () => refused(unreadableImage),
  "not-supported": ({ feature }) => refused(`this model does not support ${feature}${adviceFor(feature)}`),
  defect: () => broken("Cannot finish this request because of a fault in the server"),
};

const bodyWords = {
  missing: refused("missing request body"),
  malformed: refused("the request body is not valid JSON"),
  "too-large": { status: 413, text: "the request body is too large" },
  "missing-length": refused("the length of the request body is not valid"),
  "cut-off": refused("unexpected EOF"),
} as const;

function refused(text: string): FailureWords {
  return { status: 400, text };
}

function broken(text: string): FailureWords {
  return { status: 500, text };
}

function busy(text: string, retryAfterSeconds: number): FailureWords {
  return { status: 503, text, headers: { "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) } };
}

/** Only a browser's own page asks the person for a password; in answer to a script it would open a window. */
function unauthorized(_failure: RequestFailure, { headers }: CallHead): FailureWords {
  const isPage = String(headers["accept"] ?? "").includes("text/html");
  const challenge = isPage ? 'Basic realm="Hearth", charset="UTF-8"' : "Bearer";
  return { status: 401, text: "unauthorized", headers: { "www-authenticate": challenge } };
}

const capabilitiesByShortName = new Set(["chat", "generate", "thinking"]);

/** The original checks some abilities by the name it was given, and others by the whole name. */
function nameForCapability(model: string, capability: string): string {
  if (capabilitiesByShortName.has(capability)) return JSON.stringify(model);
  const name = readModelName(model);
  if (name === undefined) return JSON.stringify(model);
  const path = namePath(name);
  return `${path.slice(0, -1).join("/")}:${path.at(-1)}`;
}

/** Clients fetch a model by themselves when they read these words, so they stand only where that would help. */
function notFoundText(model: string, path: string): string {
  if (path === "/api/copy" || path === "/api/push") return `model ${JSON.stringify(model)} not found`;
  if (path === "/api/delete") return `model '${model}' not found`;
  if (path === "/api/show") return `model '${withTag(model)}' not found`;
  return `model ${JSON.stringify(model)} not found, try pulling it first`;
}

/** The original looks a name up first, and so tells it with its tag. */
function withTag(model: string): string {
  const name = readModelName(model);
  return name === undefined ? model : displayModelName(name);
}

function memoryText(neededBytes: number | null): string {
  const need = neededBytes === null ? "" : ` (${(neededBytes / 1024 ** 3).toFixed(1)} GiB)`;
  return `model requires more system memory${need} than is available`;
}

function tooLongText(surplusTokens: number, path: string): string {
  return path.startsWith("/api/embed")
    ? "the input length exceeds the context length"
    : `prompt too long; exceeded max context length by ${Math.max(1, surplusTokens)} tokens`;
}
