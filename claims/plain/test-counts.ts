import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import type { Outcome } from "../line.ts";
import { root } from "../run-to-end.ts";
import removedTests from "./removed-tests.json" with { type: "json" };
import testsBefore from "./tests-before.json" with { type: "json" };

/** These packages were split from one, so they are counted as one area. */
const engineAreas =
  /^packages\/(?:engine|engine-host|chat-templates|output-grammars|llama-engine|upstream-engine)\//u;
const areas = /^(?:apps\/[^/]+|packages\/[^/]+|[^/]+)/u;

type ListedTest = { readonly name: string; readonly file: string };

/** Compares the declared tests of each area with those before; a removed test must be listed with its replacement. */
export async function proveTestCounts(): Promise<Outcome> {
  const before: Readonly<Record<string, number>> = testsBefore;
  const after = countByArea(await listTests());
  const removed = countRemoved();
  const short: string[] = [];
  for (const area of [...new Set([...Object.keys(before), ...after.keys()])].toSorted()) {
    const [countBefore, count, removedCount] = [
      before[area] ?? 0,
      after.get(area) ?? 0,
      removed.get(area) ?? 0,
    ];
    process.stdout.write(
      `${area.padEnd(32)} ${String(countBefore).padStart(5)} before ${String(count).padStart(5)} now ${String(removedCount).padStart(4)} removed\n`,
    );
    if (count < countBefore - removedCount) short.push(area);
  }
  for (const { name, coveredBy } of removedTests)
    process.stdout.write(`removed: ${name}\n  covered by: ${coveredBy}\n`);
  const total = [...after.values()].reduce((sum, count) => sum + count, 0);
  const totalBefore = Object.values(before).reduce((sum, count) => sum + count, 0);
  const missing = short.length > 0 ? `; unexplained missing tests in ${short.join(", ")}` : "";
  return {
    isProven: short.length === 0 && total > 0,
    figure: `${totalBefore} declared tests before, ${total} now, ${removedTests.length} removed and listed with what covers them${missing}`,
  };
}

async function listTests(): Promise<readonly ListedTest[]> {
  const folder = await mkdtemp(join(tmpdir(), "list-"));
  try {
    const output = join(folder, "tests.json");
    await promisify(execFile)(join(root, "node_modules/.bin/vitest"), ["list", `--json=${output}`], {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    });
    // Written by the test runner, whose version is pinned.
    return JSON.parse(await readFile(output, "utf8")) as ListedTest[];
  } finally {
    await rm(folder, { recursive: true });
  }
}

function countByArea(tests: readonly ListedTest[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { file } of tests) {
    const area = areaOf(relative(root, file));
    counts.set(area, (counts.get(area) ?? 0) + 1);
  }
  return counts;
}

function countRemoved(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { area } of removedTests) counts.set(area, (counts.get(area) ?? 0) + 1);
  return counts;
}

function areaOf(path: string): string {
  return engineAreas.test(path) ? "packages: engine and drivers" : (areas.exec(path)?.[0] ?? path);
}
