import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cruise, type ICruiseOptions, type IViolation } from "dependency-cruiser";
import extractConfiguration from "dependency-cruiser/config-utl/extract-depcruise-config";
import type { Finding } from "./finding.ts";
import { repositoryFolder } from "./source-tree.ts";

export type CruisedTree = {
  readonly findings: readonly Finding[];
  /** Every module that was analysed or imported; fewer than the source files means that the tool skipped some. */
  readonly modules: readonly string[];
};

const cruisedFolders = [
  "apps",
  "packages",
  "checks",
  "claims",
  "scripts",
  "conformance",
  "bench",
  "sdks",
  "integrations",
];
const configuration = await extractConfiguration(join(repositoryFolder, ".dependency-cruiser.cjs"));

export const importRuleNames: readonly string[] = (configuration.forbidden ?? []).map(
  (rule) => rule.name ?? "unnamed",
);

/** Follows every import of a tree and reports those that the import rules forbid. */
export async function findForbiddenImports(
  folder: string,
  changed: Partial<ICruiseOptions> = {},
): Promise<CruisedTree> {
  const { output } = await cruise(
    cruisedFolders.filter((name) => existsSync(join(folder, name))),
    {
      ...configuration.options,
      ruleSet: { forbidden: configuration.forbidden ?? [] },
      validate: true,
      baseDir: folder,
      ...changed,
    },
  );
  if (typeof output === "string") throw new Error(`Cannot read the imports of "${folder}": ${output}`);
  return {
    findings: await Promise.all(output.summary.violations.map((violation) => toFinding(violation, folder))),
    modules: output.modules.map(({ source }) => source),
  };
}

async function toFinding(violation: IViolation, folder: string): Promise<Finding> {
  const { from, to, unresolvedTo = to, rule } = violation;
  const lines = (await readFile(join(folder, from), "utf8")).split("\n");
  // The tool strips "node:" from the specifiers it reports.
  const index = lines.findIndex(
    (line) => line.includes(`${unresolvedTo}"`) || line.includes(`${unresolvedTo}'`),
  );
  const reason =
    configuration.forbidden?.find(({ name }) => name === rule.name)?.comment ?? "it is forbidden";
  return { path: from, line: index + 1, rule: rule.name, message: `Do not import "${to}": ${reason}` };
}
