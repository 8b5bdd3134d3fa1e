import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import type { TestModelName } from "@hearth-and-keep/test-servers";
import { type Served, type Settings, startProgram } from "./served.ts";

/** The last version without the protections that the "guard" claims describe. */
export const baselineCommit = "afe0066";

/** For a test that is skipped because there is no checkout. */
export const baselineInstructions: string = [
  "set HEARTH_BASELINE to a checkout of the baseline:",
  "git clone . ../hearth-baseline &&",
  `git -C ../hearth-baseline checkout ${baselineCommit} &&`,
  "sh ../hearth-baseline/scripts/with-node.sh",
].join(" ");

/**
 * Starts the baseline from its checkout, with this Node.js. Of all that benchmarks use, only the line that it prints
 * when it listens differs from the present version; a setting that was renamed since would be translated here.
 */
export async function startBaseline(
  folder: string,
  model: TestModelName,
  settings: Settings,
): Promise<Served> {
  await requireBaselineCommit(folder);
  const program = {
    path: resolve(folder, "apps/hearth/bin/hearth.js"),
    listening: /Hearth listens on (\S+)/u,
  };
  return startProgram(program, model, settings);
}

async function requireBaselineCommit(folder: string): Promise<void> {
  const { stdout } = await promisify(execFile)("git", ["-C", folder, "rev-parse", "HEAD"]);
  if (!stdout.startsWith(baselineCommit)) {
    throw new Error(`${folder} has commit ${stdout.trim()} checked out; check out ${baselineCommit}`);
  }
}
