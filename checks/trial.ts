import type { CheckCase } from "./cases/check-case.ts";
import { cases } from "./cases/index.ts";
import { type Check, describeFinding, type Finding } from "./finding.ts";
import { layOutTree } from "./lay-out-tree.ts";

export type Trial = {
  readonly check: string;
  readonly fires: boolean;
  /** Differences from the expectation, one per line; empty when the check fires exactly where it should. */
  readonly surprises: readonly string[];
};

/**
 * Runs a check on its two trees: on `broken` it must report exactly the lines that its case expects, all under its own
 * name, and on `valid` nothing. A check without a case does not pass.
 */
export async function tryCheck(check: Check): Promise<Trial> {
  const surprises: string[] = [];
  try {
    const checkCase = findCase(check);
    if (checkCase.expected.length === 0) surprises.push(`the case of "${check.name}" expects nothing`);
    const onBroken = await runOn(check, "broken");
    const onValid = await runOn(check, "valid");
    surprises.push(...differences(checkCase.expected, onBroken.map(lineOfFinding)));
    surprises.push(...onBroken.filter(({ rule }) => rule !== check.name).map(asSurprise));
    surprises.push(...onValid.map(asSurprise));
  } catch (error) {
    surprises.push(error instanceof Error ? error.message : String(error));
  }
  return { check: check.name, fires: surprises.length === 0, surprises };
}

/** Sequential, because the underlying tools already use every core. */
export async function tryChecks(checks: readonly Check[]): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  for (const check of checks) trials.push(await tryCheck(check));
  return trials;
}

function findCase({ case: name }: Check): CheckCase {
  const found = cases[name];
  if (found === undefined) throw new Error(`No case "${name}" in checks/cases`);
  return found;
}

async function runOn(check: Check, kind: "broken" | "valid"): Promise<readonly Finding[]> {
  await using tree = await layOutTree(findCase(check), kind);
  return await check.find(tree.path);
}

/** Counted, because one line may have several findings. */
function differences(expected: readonly string[], found: readonly string[]): string[] {
  return [...new Set([...expected, ...found])].flatMap((line) => {
    const needed = expected.filter((other) => other === line).length;
    const reported = found.filter((other) => other === line).length;
    return needed === reported ? [] : [`reports ${line} ${reported} times instead of ${needed}`];
  });
}

function lineOfFinding({ path, line }: Finding): string {
  return `${path}:${line}`;
}

function asSurprise(finding: Finding): string {
  return `reports ${describeFinding(finding)}`;
}
