import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Check, describeFinding, type Finding } from "./finding.ts";
import { fixturesFolder, layOutFixture } from "./fixture-tree.ts";

export type Trial = {
  readonly check: string;
  readonly fires: boolean;
  /** What went otherwise than expected, a line each; empty when the check fires where it should and only there. */
  readonly surprises: readonly string[];
};

/**
 * Tries a check on its two fixtures: on `broken` it must report exactly the places listed in expected.txt, all
 * under its own name, and on `fine` nothing. A check without fixtures does not pass.
 */
export async function tryCheck(check: Check): Promise<Trial> {
  const surprises: string[] = [];
  try {
    const expected = await readExpected(check);
    if (expected.length === 0) surprises.push(`expected.txt of "${check.fixture}" names no place`);
    const onBroken = await runOn(check, "broken");
    const onFine = await runOn(check, "fine");
    surprises.push(...differences(expected, onBroken.map(placeOf)));
    surprises.push(...onBroken.filter(({ rule }) => rule !== check.name).map(asSurprise));
    surprises.push(...onFine.map(asSurprise));
  } catch (problem) {
    surprises.push(problem instanceof Error ? problem.message : String(problem));
  }
  return { check: check.name, fires: surprises.length === 0, surprises };
}

/** One after another: the tools behind the checks are happy to use every core by themselves. */
export async function tryChecks(checks: readonly Check[]): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  for (const check of checks) trials.push(await tryCheck(check));
  return trials;
}

async function readExpected(check: Check): Promise<string[]> {
  const path = join(fixturesFolder, check.fixture, "expected.txt");
  const text = await readFile(path, "utf8").catch((problem: unknown) => {
    throw new Error(`Cannot find the fixture of "${check.name}" in fixtures/${check.fixture}`, {
      cause: problem,
    });
  });
  return text.split("\n").filter((line) => line !== "");
}

async function runOn(check: Check, kind: "broken" | "fine"): Promise<readonly Finding[]> {
  await using tree = await layOutFixture(`${check.fixture}/${kind}`);
  return await check.find(tree.path);
}

/** Counted, because one line may deserve several findings. */
function differences(expected: readonly string[], found: readonly string[]): string[] {
  const places = new Set([...expected, ...found]);
  return [...places].flatMap((place) => {
    const wanted = expected.filter((other) => other === place).length;
    const reported = found.filter((other) => other === place).length;
    return wanted === reported ? [] : [`reports ${place} ${reported} times instead of ${wanted}`];
  });
}

function placeOf({ path, line }: Finding): string {
  return `${path}:${line}`;
}

function asSurprise(finding: Finding): string {
  return `reports ${describeFinding(finding)}`;
}
