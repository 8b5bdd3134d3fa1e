/**
 * @module
 * Terminal output and input that only Hearth has: progress bars, streamed Markdown, the line editor, and the messages of
 * its errors; the rest is in the package `terminal`. Knows nothing of HTTP. Imported by `commands/` and `main.ts`.
 */
import { type NextStep, nextStepFor, nextStepForStatus } from "@hearth-and-keep/hearth-contract";
import { sanitizeLine } from "@hearth-and-keep/terminal";
import type { CallFailure } from "../server-client/call-failure.ts";
import { exitCodes } from "./exit-codes.ts";

/** What happened, and what to type next. */
export type ErrorMessage = {
  readonly messages: readonly string[];
  readonly nextSteps: readonly string[];
  readonly exitCode: number;
};

type Failure<Kind extends CallFailure["kind"]> = Extract<CallFailure, { kind: Kind }>;

/** The message, the next steps and the exit code for every failure of a call to a server. */
export function formatCallFailure(failure: CallFailure): ErrorMessage {
  switch (failure.kind) {
    case "address-invalid":
      return usageError(
        `Invalid ${failure.where} "${failure.text}": not a server address`,
        "use host, host:port or http://host:port",
      );
    case "key-file-unreadable":
      return usageError(
        `Cannot read the API key from "${failure.file}"`,
        "pass a readable file with --api-key-file",
      );
    case "server-unreachable":
      return formatUnreachable(failure);
    case "unexpected-server":
      return errorMessage(
        exitCodes.serverError,
        `The server at ${failure.url} is neither Hearth nor Ollama`,
        "check which program uses that port, or choose another server with --host",
      );
    case "error-response":
      return formatErrorResponse(failure);
    case "response-truncated":
      return errorMessage(
        exitCodes.serverError,
        "The connection closed before the response was complete",
        'run "hearth logs" to see the server\'s last messages, or "hearth doctor" to check this machine',
      );
    case "server-start-failed":
      return formatStartFailure(failure);
    case "app-folder-unusable":
      return usageError(
        `Cannot write the server's log in ${failure.folder}: ${failure.reason}`,
        'set HOME to a writable folder, or run "hearth serve --models FOLDER" in another terminal',
      );
    case "usage-error":
      return usageError(failure.message, failure.next);
    case "not-a-terminal":
      return usageError(
        "Cannot start a chat: this is not a terminal, and no prompt was given",
        `run ${failure.command} "your prompt", or pipe text into it`,
      );
    case "interrupted":
      return { messages: failure.messages, nextSteps: [], exitCode: exitCodes.interrupted };
  }
}

/** The lines to print. */
export function formatLines({ messages, nextSteps }: ErrorMessage): readonly string[] {
  return [...messages, ...nextSteps.map((step) => `Next: ${step}`)];
}

function errorMessage(exitCode: number, message: string, nextStep: string | undefined): ErrorMessage {
  return { messages: [message], nextSteps: nextStep === undefined ? [] : [nextStep], exitCode };
}

function usageError(message: string, nextStep?: string): ErrorMessage {
  return errorMessage(exitCodes.usage, message, nextStep);
}

function formatUnreachable({ url, reason, isLocal }: Failure<"server-unreachable">): ErrorMessage {
  return errorMessage(
    exitCodes.unavailable,
    `Cannot reach a server at ${url}: ${reason}`,
    isLocal
      ? 'start one with "hearth serve" or "hearth run MODEL", or choose another with HEARTH_HOST or --host'
      : "check that it is running, and that HEARTH_HOST or --host is correct",
  );
}

/** Relays the lines that the server printed, and its exit code where the user can correct the cause. */
function formatStartFailure({ lines, exitCode }: Failure<"server-start-failed">): ErrorMessage {
  const isCorrectable = exitCode === exitCodes.usage || exitCode === exitCodes.unavailable;
  return {
    messages: [
      "Cannot start the server in the background",
      ...lines.map((line) => `  ${sanitizeLine(line)}`),
    ],
    nextSteps: [
      exitCode === exitCodes.unavailable
        ? "stop that program, or set HEARTH_PORT to another port"
        : 'run "hearth serve" to see the error, or "hearth doctor" to check this machine',
    ],
    exitCode: isCorrectable ? exitCode : exitCodes.serverError,
  };
}

function formatErrorResponse(failure: Failure<"error-response">): ErrorMessage {
  const { code, details, status } = failure;
  const step = code === undefined ? nextStepForStatus(status) : nextStepFor(code, details);
  const [exitCode, message] = describeError(failure);
  return errorMessage(exitCode, message, step === undefined ? undefined : formatNextStep(step));
}

function describeError(failure: Failure<"error-response">): readonly [exitCode: number, message: string] {
  const { code, details, status, url } = failure;
  const model = sanitizeLine(details.model ?? "");
  if (code === "key-missing") return [exitCodes.unauthorized, `The server at ${url} requires an API key`];
  if (code === "key-invalid" || code === "keys-conflict") {
    return [exitCodes.unauthorized, `The server at ${url} rejected the API key`];
  }
  if (code === "admin-key-required") {
    return [exitCodes.unauthorized, `The server at ${url} allows this with an admin key only`];
  }
  if (code === "model-not-found") return [exitCodes.modelNotFound, `Model "${model}" not found`];
  if (code === "remote-model-not-found") {
    return [exitCodes.modelNotFound, `The registry has no model "${model}"`];
  }
  const exitCode = status >= 500 ? exitCodes.serverError : exitCodes.usage;
  return [exitCode, `Server error: ${sanitizeLine(failure.message)}`];
}

type Step<Action> = Extract<NextStep, { action: Action }>;

export function formatNextStep(step: NextStep): string {
  // The formatter is looked up by the action of the step it receives.
  const format = stepFormats[step.action] as (step: NextStep) => string;
  return format(step);
}

/** Values come from the server, so they are sanitized. */
const stepFormats: { readonly [Action in NextStep["action"]]: (step: Step<Action>) => string } = {
  "pull-model": ({ model }) =>
    `run "hearth pull ${sanitizeLine(model)}" to download it, or "hearth list" to see the local models`,
  "check-name": () => "check the name: it looks like model, model:tag or team/model:tag, e.g. qwen3:8b",
  retry: ({ afterSeconds }) =>
    afterSeconds === undefined ? "try again in a moment" : `try again in ${afterSeconds} s`,
  "provide-key": () => "set HEARTH_API_KEY, or pass a file with --api-key-file",
  "correct-key": () => "correct the key in HEARTH_API_KEY, or in the file of --api-key-file",
  "use-admin-key": () =>
    'use an admin key: one from --api-key, or marked "admin" in the keys file of the server',
  "use-allowed-address": () => 'call the server by a name it allows; see --allowed-hosts of "hearth serve"',
  "use-smaller-model": () =>
    'use a smaller model, or unload one with "hearth stop MODEL"; "hearth ps" lists the loaded ones',
  "use-capable-model": ({ model = "MODEL" }) =>
    `run "hearth show ${sanitizeLine(model)}" to see what it supports, or use another model`,
  "use-local-model": () => 'use a local model; "hearth list" shows them',
  "shorten-prompt": ({ promptTokens }) =>
    promptTokens === undefined
      ? "shorten the prompt, or use /clear to start again"
      : `shorten the prompt, or enlarge the context with /set parameter num_ctx ${contextFor(promptTokens)}`,
  "send-less": () => "send less at once, e.g. fewer or smaller images",
  "free-disk-space": () =>
    'run "hearth prune" to delete unused files, or "hearth remove MODEL" to delete a model',
  "replace-model": ({ model = "MODEL" }) =>
    `run "hearth remove ${sanitizeLine(model)}" and "hearth pull ${sanitizeLine(model)}" to download it again`,
  "replace-file": () => "download the file again; only GGUF files are supported",
  "specify-source": () =>
    'run "hearth create NAME --from FILE.gguf" or "hearth create NAME -f Modelfile", not both',
  "allow-registry": ({ host = "HOST" }) =>
    `start the server with "hearth serve --private-registries ${sanitizeLine(host)}"; for plain HTTP, add --insecure to the command`,
  "check-registry-access": () =>
    "check that the model is public, or that this machine may access the registry",
  "check-connection": () => "check your connection and try again; a download resumes where it stopped",
  "use-owning-program": () => "the model belongs to an Ollama on the server's machine; change it there",
  "edit-engines-file": () =>
    'use another name, or edit the file that "hearth serve" reads with --engines-file',
  "check-server-version": () =>
    'the server may be an older version; compare "hearth --version" on both machines',
  "check-server-log": () =>
    'try again; run "hearth logs" to see the cause, or "hearth doctor" to check this machine',
};

/** The next power of two that holds the prompt and leaves room for a response. */
function contextFor(promptTokens: number): number {
  return 2 ** Math.ceil(Math.log2(promptTokens + 1024));
}
