import { sanitizeLine } from "@hearth-and-keep/terminal";
import type { ProblemCode } from "@hearth-and-keep/vault-contract";
import type { ClientFailure, ReceivedProblem } from "./client-failure.ts";
import { exitCodes } from "./exit-codes.ts";

/** What happened, what to type next, and the exit code. */
export type FailureMessage = {
  readonly message: string;
  readonly next: string | undefined;
  readonly exitCode: number;
};

type Failure<Kind extends ClientFailure["kind"]> = Extract<ClientFailure, { kind: Kind }>;

/** Contains no value of a secret and no token. */
export function formatFailure(failure: ClientFailure): FailureMessage {
  // The formatter is looked up by the kind of the failure it receives.
  const format = formats[failure.kind] as (failure: ClientFailure) => FailureMessage;
  return format(failure);
}

function usage(message: string, next?: string): FailureMessage {
  return { message, next, exitCode: exitCodes.usage };
}

const formats: { readonly [Kind in ClientFailure["kind"]]: (failure: Failure<Kind>) => FailureMessage } = {
  "usage-error": ({ message, next }) => usage(message, next),
  "server-missing": () =>
    usage("No server is set", 'run "keep login https://keep.example", or "keep init" in your project'),
  "server-invalid": ({ text, reason }) =>
    reason === "plain-http"
      ? usage(
          `The server ${sanitizeLine(text)} would get your token unencrypted`,
          "use https://; http:// is allowed for this machine only",
        )
      : usage(`Invalid server address "${sanitizeLine(text)}"`, "use a URL such as https://keep.example"),
  "vault-missing": () =>
    usage("No vault is set", 'run "keep init" in your project, or pass --vault with a name or an id'),
  "not-logged-in": ({ server, organisation }) => ({
    message: `Not logged in to ${server}${organisation === undefined ? "" : ` for the organisation ${sanitizeLine(organisation)}`}`,
    next: `run "keep login ${server}"${organisation === undefined ? "" : " and choose the organisation on its page"}, or set KEEP_TOKEN and KEEP_SERVER`,
    exitCode: exitCodes.unauthorized,
  }),
  "server-not-confirmed": ({ server, file }) => ({
    message: `Only the file ${file} names the server ${server}, so the token of KEEP_TOKEN or --token-file is not sent to it`,
    next: `if the server is right, set KEEP_SERVER=${server}`,
    exitCode: exitCodes.unauthorized,
  }),
  "server-unreachable": ({ server, reason }) => ({
    message: `Cannot reach ${server}: ${reason}`,
    next: "check your connection and the address of the server",
    exitCode: exitCodes.unavailable,
  }),
  "unexpected-server": ({ server }) => ({
    message: `The server at ${server} is not Keep`,
    next: "check the address of the server",
    exitCode: exitCodes.serverError,
  }),
  problem: formatProblem,
  "login-refused": ({ error, description }) => ({
    message:
      error === "access_denied" ? "The login was denied" : `Login failed: ${sanitizeLine(description)}`,
    next: error === "access_denied" ? undefined : 'run "keep login" again',
    exitCode: exitCodes.unauthorized,
  }),
  "login-timed-out": () => ({
    message: "The login was not approved in time",
    next: 'run "keep login" again; on a machine without a browser, add --device',
    exitCode: exitCodes.unauthorized,
  }),
  "project-file-invalid": ({ file, reason }) =>
    usage(`Cannot use ${file}: ${reason}`, 'correct it, or write it again with "keep init"'),
  "file-unusable": ({ file, reason }) => ({
    message: `Cannot use the file ${file}: ${reason}`,
    next: undefined,
    exitCode: exitCodes.unavailable,
  }),
  "credentials-readable": ({ file }) =>
    usage(`Other users of this machine can read ${file}`, `run "chmod 600 ${file}"`),
  "keyring-unusable": ({ server }) => ({
    message: `Cannot read the token for ${server} from the system keyring`,
    next: 'unlock the keyring, or run "keep login --no-keyring"',
    exitCode: exitCodes.unauthorized,
  }),
  "names-missing": ({ names, folder }) => ({
    message: `Not found in ${sanitizeLine(folder)}: ${names.map(sanitizeLine).join(", ")}`,
    next: `run "keep list" to see what there is`,
    exitCode: exitCodes.notFound,
  }),
  "name-unusable": ({ path }) =>
    usage(
      `The name of ${sanitizeLine(path)} cannot be an environment variable`,
      "leave it out with --only, or rename it",
    ),
  "cache-missing": ({ server, maxAge }) => ({
    message: `Cannot reach ${server}, and this machine has no copy of the values that is at most ${maxAge} old`,
    next: "run the command once with a connection",
    exitCode: exitCodes.unavailable,
  }),
  "token-invalid": ({ source }) => usage(`There is no token in ${source}`, "create one in the console"),
  "environment-too-large": () => ({
    message: "The secrets are larger than the environment that this system gives to a program",
    next: "pass fewer with --only, or use --mount",
    exitCode: exitCodes.notExecutable,
  }),
  "sandbox-missing": ({ reason }) => ({
    message: `Cannot run the program in a sandbox: ${reason}`,
    next: "on Linux, install bubblewrap and allow it to create user namespaces; there is no --agent without it",
    exitCode: exitCodes.unavailable,
  }),
  "egress-rule-missing": ({ name }) =>
    usage(
      `No egress rule allows an agent to use ${sanitizeLine(name)}`,
      `run "keep egress ${sanitizeLine(name)} --host api.example", or leave it out of --only`,
    ),
  "program-not-found": ({ program }) => ({
    message: `Program "${sanitizeLine(program)}" not found`,
    next: undefined,
    exitCode: exitCodes.programNotFound,
  }),
  "program-not-executable": ({ program }) => ({
    message: `Program "${sanitizeLine(program)}" cannot be executed`,
    next: undefined,
    exitCode: exitCodes.notExecutable,
  }),
  interrupted: () => ({ message: "Interrupted", next: undefined, exitCode: exitCodes.interrupted }),
};

type NextStep = (failure: Failure<"problem">) => string | undefined;

/** By the code, which never changes its meaning. */
const nextSteps: ReadonlyMap<string, NextStep> = new Map(
  Object.entries({
    unauthenticated: ({ server }) =>
      `the token has expired or was revoked; run "keep login ${server}", or correct KEEP_TOKEN`,
    insufficient_scope: ({ server }) =>
      `use a token that may do this; "keep login ${server}" without --read-only gets one that writes`,
    out_of_reach: () => "use a token whose paths and vaults include this one",
    use_not_allowed: () => 'see the rule with "keep egress NAME"',
    role_required: () => "ask somebody who manages the vault for access",
    not_found: () => 'run "keep list" to see the secrets, and check the vault with "keep whoami"',
    approval_required: () => "propose the change in the console, where another person approves it",
    precondition_failed: () => "somebody changed it in the meantime; read it again first",
    versions_full: () => "destroy old versions in the console, or change the setting of the vault",
    quota_exceeded: () => "delete what is no longer used",
    reference_missing: () => "write the missing secret, or correct the reference",
    reference_cycle: () => "remove one of the references",
    rate_limited: () => "try again in a moment",
    unavailable: () => "try again in a moment",
  } satisfies Partial<Record<ProblemCode, NextStep>>),
);

function formatProblem(failure: Failure<"problem">): FailureMessage {
  const { problem, subject } = failure;
  const { code } = problem;
  return {
    message: describeProblem(problem, subject),
    next: nextSteps.get(code)?.(failure),
    exitCode: exitCodeOf(problem),
  };
}

function describeProblem(
  { title, detail, errors = [] }: ReceivedProblem,
  subject: string | undefined,
): string {
  const fields = errors.map(({ place, reason }) => `${place} ${reason}`.trim());
  const text = fields.length > 0 ? fields.join("; ") : (detail ?? title);
  return sanitizeLine(subject === undefined ? text : `${subject}: ${text}`);
}

function exitCodeOf({ status, code }: ReceivedProblem): number {
  if (status === 401 || status === 403) return exitCodes.unauthorized;
  if (code === "not_found" || code === "reference_missing") return exitCodes.notFound;
  return status >= 500 || status === 429 ? exitCodes.serverError : exitCodes.usage;
}
