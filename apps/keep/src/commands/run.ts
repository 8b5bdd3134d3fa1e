import { errorScreen, sanitizeLine } from "@hearth-and-keep/terminal";
import { type ClientError, clientFailure } from "../client/client-failure.ts";
import { openKeyring } from "../client/keyring.ts";
import { addContextFlags, type ContextFlags, openVaultContext } from "../client/open-context.ts";
import {
  type ChildEnvironment,
  createChildEnvironment,
  findMissing,
  type Selection,
} from "../client/run/child-environment.ts";
import { createMask } from "../client/run/mask-secrets.ts";
import { readRunValues } from "../client/run/read-run-values.ts";
import { startProgram } from "../client/run/run-program.ts";
import type { DefineCommand } from "./command-entry.ts";

type RunFlags = ContextFlags & {
  readonly only?: string;
  readonly require?: string;
  readonly prefix?: string;
  readonly redact?: boolean;
  readonly offline?: boolean;
};

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .usage("[options] -- <program> [arguments...]")
      .argument("<program...>", "program with its arguments")
      .passThroughOptions()
      .option("--only <names>", "pass only these secrets, comma-separated; all must exist")
      .option("--require <names>", "do not start unless these secrets exist, comma-separated")
      .option("--prefix <prefix>", "put this before the name of each variable, e.g. TF_VAR_")
      .option(
        "--redact",
        "replace secrets in the output of the program by [hidden]; its output is then no terminal",
      )
      .option("--offline", "keep an encrypted copy for 24 hours, for when the server cannot be reached"),
  ).action(run);
};

async function run([program = "", ...args]: readonly string[], flags: RunFlags): Promise<void> {
  const selection = readSelection(flags);
  const { variables, values, skipped } = await readEnvironment(flags, selection);
  if (skipped.length > 0) {
    const names = skipped.map(sanitizeLine).join(", ");
    errorScreen.writeLine(`Not passed, because they cannot be environment variables: ${names}`);
  }
  const mask = flags.redact === true ? createMask(values) : undefined;
  const running = startProgram({ program, args, environment: variables, createMask: mask });
  process.exitCode = await running.exitCode;
}

/** The connection is closed before the program starts. */
async function readEnvironment(flags: RunFlags, selection: Selection): Promise<ChildEnvironment> {
  await using context = await openVaultContext(flags);
  const { only } = selection;
  const names = only === undefined ? undefined : [...new Set([...only, ...selection.required])];
  const isOffline = flags.offline === true;
  const { values, isFromCache } = await readRunValues({ names, isOffline, openKeyring }, context);
  const missing = findMissing(values.items, selection);
  if (missing.length > 0)
    throw clientFailure({ kind: "names-missing", names: missing, folder: context.folder });
  if (isFromCache)
    errorScreen.writeLine(`${context.client.server} cannot be reached; using the copy on this machine`);
  const environment = createChildEnvironment(values.items, selection);
  assertPassed(environment, only);
  return environment;
}

/** What was asked for by name must not be left out. */
function assertPassed({ skipped }: ChildEnvironment, only: readonly string[] | undefined): void {
  const [path] = only === undefined ? [] : skipped;
  if (path !== undefined) throw clientFailure({ kind: "name-unusable", path });
}

function readSelection({ only, require: required, prefix = "" }: RunFlags): Selection {
  if (!/^[A-Za-z0-9_]*$/u.test(prefix)) throw invalidPrefix(prefix);
  return {
    only: only === undefined ? undefined : readNames(only),
    required: readNames(required ?? ""),
    prefix,
  };
}

function readNames(text: string): readonly string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function invalidPrefix(prefix: string): ClientError {
  const message = `Invalid prefix "${sanitizeLine(prefix)}"`;
  return clientFailure({ kind: "usage-error", message, next: "use letters, digits and underscores" });
}
