import { errorScreen, sanitizeLine } from "@hearth-and-keep/terminal";
import { clientFailure } from "../client-failure.ts";
import { inheritedEnvironment } from "../config.ts";
import { openKeyring } from "../keyring.ts";
import type { VaultContext } from "../open-context.ts";
import type { NamedValue } from "../read-values.ts";
import { createChildEnvironment, findMissing, selectItems } from "./child-environment.ts";
import { createMask } from "./mask-secrets.ts";
import type { MountedFiles } from "./mounted-files.ts";
import type { RunPlan } from "./read-run-flags.ts";
import {
  type RunValues,
  type RunValuesOptions,
  readChangedValues,
  readRunValues,
} from "./read-run-values.ts";
import type { Launch } from "./run-program.ts";
import { watchValues } from "./watch-values.ts";

export type LaunchSources = {
  /** Undefined to pass variables. */
  readonly files: MountedFiles | undefined;
  /** Aborted when the program has ended. */
  readonly ending: AbortSignal;
  readonly open: () => Promise<VaultContext>;
};

/** What the program is started with, and with --watch what it is restarted with. */
export async function* openLaunches(
  plan: RunPlan,
  { files, ending, open }: LaunchSources,
): AsyncGenerator<Launch, undefined> {
  await using context = await open();
  const { only, required } = plan.selection;
  const names = only === undefined ? undefined : [...new Set([...only, ...required])];
  const { isOffline, maxAgeMinutes } = plan;
  const options: RunValuesOptions = { names, isOffline, maxAgeMinutes, openKeyring, signal: ending };
  const first = await readRunValues(options, context);
  const missing = findMissing(first.values.items, plan.selection);
  if (missing.length > 0)
    throw clientFailure({ kind: "names-missing", names: missing, folder: context.folder });
  const { server } = context.client;
  if (first.isFromCache) say(`${server} cannot be reached; using the copy on this machine`);
  const masked: string[] = [];
  yield launchWith(first, { plan, files, masked });
  if (plan.watchSeconds === undefined) return undefined;
  const changes = watchValues(first, {
    intervalSeconds: plan.watchSeconds,
    readChanged: (tag) => readChangedValues(tag, options, context),
    signal: ending,
    onTrouble: (trouble) => say(`${server} ${troubles[trouble]}`),
  });
  for await (const changed of changes) {
    const absent = findMissing(changed.values.items, plan.selection);
    if (absent.length === 0) {
      say("Secrets have changed; restarting the program");
      yield launchWith(changed, { plan, files, masked });
    } else say(`Not restarted, because these do not exist any more: ${absent.map(sanitizeLine).join(", ")}`);
  }
  return undefined;
}

const troubles = {
  away: "cannot be reached; the program goes on with the values that it has",
  refused: "does not accept the token any more; the program goes on, and is not restarted any more",
};

type LaunchParts = {
  readonly plan: RunPlan;
  readonly files: MountedFiles | undefined;
  /** Also the values of earlier starts, which the program may have stored. */
  readonly masked: string[];
};

function launchWith({ values }: RunValues, { plan, files, masked }: LaunchParts): Launch {
  const items = selectItems(values.items, plan.selection);
  const { environment, shown, skipped } =
    files === undefined ? asVariables(items, plan) : asFiles(items, files);
  if (skipped.length > 0) {
    const names = skipped.map(sanitizeLine).join(", ");
    const kind = files === undefined ? "environment variables" : "names of files";
    say(`Not passed, because they cannot be ${kind}: ${names}`);
  }
  if (plan.isRedacting) masked.push(...shown);
  return { environment, createMask: plan.isRedacting ? createMask(masked) : undefined };
}

function asVariables(items: readonly NamedValue[], { selection }: RunPlan) {
  const { variables, values, skipped } = createChildEnvironment(items);
  // What was asked for by name must not be left out.
  const [path] = selection.only === undefined ? [] : skipped;
  if (path !== undefined) throw clientFailure({ kind: "name-unusable", path });
  return { environment: variables, shown: values, skipped };
}

function asFiles(items: readonly NamedValue[], files: MountedFiles) {
  const shown = items.filter(({ encoding }) => encoding === "utf8").map(({ value }) => value);
  return { environment: inheritedEnvironment(), shown, skipped: files.write(items) };
}

function say(text: string): void {
  errorScreen.writeLine(text);
}
