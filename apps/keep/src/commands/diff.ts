import { renderTable, sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { clientFailure } from "../client/client-failure.ts";
import { compareFolders, type FolderDifference } from "../client/diff/compare-folders.ts";
import { compareVersions, type VersionDifference } from "../client/diff/compare-versions.ts";
import { formatChange } from "../client/diff/format-change.ts";
import { addContextFlags, type ContextFlags, openVaultContext } from "../client/open-context.ts";
import type { DefineCommand } from "./command-entry.ts";

type DiffFlags = ContextFlags & {
  readonly from?: string;
  readonly to?: string;
  readonly reveal?: boolean;
  readonly json?: boolean;
};

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .usage("[options] <name>\n       keep diff [options] <environment> <environment>")
      .argument("<left>", "a secret; or an environment, or a folder such as /staging/api")
      .argument("[right]", "the environment or folder to compare with")
      .option("--from <version>", "older version of the secret (default: the one before --to)")
      .option("--to <version>", "newer version of the secret (default: the current one)")
      .option("--reveal", "show the values that differ")
      .option("--json", "print JSON"),
  ).action(diff);
};

async function diff(left: string, right: string | undefined, flags: DiffFlags): Promise<void> {
  const isRevealing = flags.reveal === true;
  if (right !== undefined && (flags.from ?? flags.to) !== undefined)
    throw clientFailure({ kind: "usage-error", message: "--from and --to are for versions of one secret" });
  await using context = await openVaultContext(flags);
  if (right === undefined) {
    const versions = { from: flags.from, to: flags.to, isRevealing };
    printVersions(await compareVersions(left, versions, context), flags);
  } else {
    const folder = flags.folder ?? context.project?.settings.folder;
    printFolders(await compareFolders({ left, right, folder, isRevealing }, context), flags);
  }
}

function printVersions(difference: VersionDifference, { json }: DiffFlags): void {
  if (json === true) return printJson(difference);
  const { path, from, to, outcome, change } = difference;
  screen.writeLine(`${sanitizeLine(path)}, versions ${from} and ${to}: ${outcome}`);
  if (change !== undefined) for (const line of formatChange(change, screen)) screen.writeLine(line);
}

function printFolders(difference: FolderDifference, { json }: DiffFlags): void {
  if (json === true) return printJson(difference);
  const { items } = difference;
  const [left, right] = [sanitizeLine(difference.left), sanitizeLine(difference.right)];
  const different = items.filter(({ outcome }) => outcome !== "same");
  if (different.length === 0) {
    screen.writeLine(`No differences between ${left} and ${right} (${items.length} secrets)`);
    return;
  }
  const outcomes = {
    same: "same",
    different: "different",
    left_only: `only in ${left}`,
    right_only: `only in ${right}`,
  };
  const rows = different.map(({ path, outcome }) => [path, outcomes[outcome]]);
  for (const line of renderTable(["NAME", "DIFFERENCE"], rows, { screen, dropOrder: [] }))
    screen.writeLine(line);
  for (const { path, change } of different)
    if (change !== undefined) {
      screen.writeLine(`\n${screen.style("bold", sanitizeLine(path))}`);
      for (const line of formatChange(change, screen)) screen.writeLine(line);
    }
}

function printJson(difference: VersionDifference | FolderDifference): void {
  screen.writeLine(JSON.stringify(difference, null, 2));
}
