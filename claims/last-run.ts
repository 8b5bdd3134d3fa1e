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
  /** The content that was tested, as git names it; amended messages do not change it. */
  readonly tree: string;
  readonly finishedAt: string;
  readonly seconds: number;
  /** "cold" when nothing was in the cache folder before the run. */
  readonly caches: "cold" | "warm";
  readonly passed: number;
  readonly failed: number;
  readonly stages: readonly StageRecord[];
};

/** The committed tree, with a mark when files differ from it. */
export function describeTree(): string {
  const isChanged = askGit("status", "--porcelain") !== "";
  return `${askGit("rev-parse", "HEAD^{tree}")}${isChanged ? " with changes" : ""}`;
}

function askGit(...words: readonly string[]): string {
  return execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
}

export async function writeLastRun(run: RunRecord): Promise<void> {
  await mkdir(runsFolder(), { recursive: true });
  const path = recordPath(run.tree);
  // Two clones of one tree may finish at once; each writes a file of its own and the later one stays.
  const fresh = `${path}.${process.pid}`;
  await writeFile(fresh, JSON.stringify(run, null, 2));
  await rename(fresh, path);
}

/** The last run of this tree, in whichever clone it was; runs of other trees are no evidence. */
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
