/**
 * @module
 * The checks that enforce the architecture, as one list: our own rules, import rules, unused code, commit messages and
 * tools. A check takes a folder laid out like this repository and returns findings; on a valid tree it returns none.
 * Each has a case in cases/ with a tree that violates it and one that does not; `tryChecks` verifies that it fires.
 * Imported by the tests here, by claims/ and by scripts; a test of an app may import unbounded-values.ts.
 */
import { commitMessagesName, findCommitMessages } from "./commit-messages.ts";
import type { Check, Finding, Rule } from "./finding.ts";
import { findForbiddenImports, importRuleNames } from "./import-rules.ts";
import { rules } from "./rules/index.ts";
import { readTree } from "./source-tree.ts";
import { toolChecks } from "./tools.ts";
import { findUnusedCode, unusedCodeRuleNames } from "./unused-code.ts";

export { type Check, describeFinding, type Finding } from "./finding.ts";
export { repositoryFolder } from "./source-tree.ts";
export { type Trial, tryCheck, tryChecks } from "./trial.ts";

export const checks: readonly Check[] = [
  ...rules.map(checkOfRule),
  ...importRuleNames.map((name) => ({
    name,
    case: name,
    find: async (folder: string) => (await findForbiddenImports(folder)).findings,
  })),
  ...unusedCodeRuleNames.map((name) => ({ name, case: name, find: findUnusedCode })),
  { name: commitMessagesName, case: commitMessagesName, find: findCommitMessages },
  ...toolChecks,
];

/** All findings of a tree; each tool runs once, however many checks it implements. */
export async function findEverything(folder: string): Promise<readonly Finding[]> {
  const files = await readTree(folder);
  const { findings: imports } = await findForbiddenImports(folder);
  return [...rules.flatMap((rule) => rule.find(files)), ...imports, ...(await findUnusedCode(folder))];
}

function checkOfRule(rule: Rule): Check {
  return {
    name: rule.name,
    case: rule.name,
    find: async (folder) => rule.find(await readTree(folder)),
  };
}
