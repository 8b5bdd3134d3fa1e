import { execFileSync } from "node:child_process";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheFolder } from "@hearth-and-keep/test-servers";
import { root } from "./run-to-end.ts";

type StageRecord = {
  readonly name: string;
  readonly seconds: number;
  readonly isPassed: boolean;
};

export type RunRecord = {
  /** The git tree hash of the tested content; amending a message does not change it. */
  readonly tree: string;
  readonly finishedAt: string;
  readonly seconds: number;
  /** "cold" when the cache folder did not exist before the run. */
  readonly caches: "cold" | "warm";
  readonly passed: number;
  readonly failed: number;
  readonly stages: readonly StageRecord[];
};

/** The hash of the committed tree, with a suffix when the working tree differs from it. */
export function describeTree(): string {
  const isChanged = git("status", "--porcelain") !== "";
  return `${git("rev-parse", "HEAD^{tree}")}${isChanged ? " with changes" : ""}`;
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}

export async function writeLastRun(run: RunRecord): Promise<void> {
  await mkdir(runsFolder(), { recursive: true });
  const path = recordPath(run.tree);
  // Two clones of one tree may finish at once: each writes its own file, and the last rename wins.
  const fresh = `${path}.${process.pid}`;
  await writeFile(fresh, JSON.stringify(run, null, 2));
  await rename(fresh, path);
}

/** The last run of this tree, in any clone. */
export async function readLastRun(): Promise<RunRecord | undefined> {
  try {
    // Written by writeLastRun above.
    return JSON.parse(await readFile(recordPath(describeTree()), "utf8")) as RunRecord;
  } catch {
    return undefined;
  }
}

function runsFolder(): string {
  return join(cacheFolder, "ci-runs");
}

function recordPath(tree: string): string {
  return join(runsFolder(), `${tree.replaceAll(" ", "-")}.json`);
}
