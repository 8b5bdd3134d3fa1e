import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { JSONReport, JSONReportEntry } from "knip";
import type { Finding } from "./finding.ts";
import { repositoryFolder } from "./source-tree.ts";

/** Maps knip's issue types to rule names; an unlisted type is reported under its own name. */
const ruleOfKind: Readonly<Record<string, string>> = {
  files: "unused-files",
  exports: "unused-exports",
  types: "unused-exports",
  nsExports: "unused-exports",
  nsTypes: "unused-exports",
  enumMembers: "unused-exports",
  namespaceMembers: "unused-exports",
  duplicates: "unused-exports",
  dependencies: "unused-dependencies",
  devDependencies: "unused-dependencies",
  optionalPeerDependencies: "unused-dependencies",
  unlisted: "unlisted-dependencies",
  unresolved: "unlisted-dependencies",
  binaries: "unlisted-dependencies",
};

export const unusedCodeRuleNames: readonly string[] = [...new Set(Object.values(ruleOfKind))];

/** Runs knip over a workspace with the repository's own configuration. */
export async function findUnusedCode(folder: string): Promise<readonly Finding[]> {
  const program = join(dirname(createRequire(import.meta.url).resolve("knip")), "..", "bin", "knip.js");
  const settings = ["--config", join(repositoryFolder, "knip.ts"), "--reporter", "json"];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [program, ...settings, "--no-progress", "--no-config-hints", "--no-exit-code"],
    { cwd: folder, maxBuffer: 64 * 1024 * 1024, timeout: 300_000 },
  );
  return toReport(stdout).issues.flatMap(toFindings);
}

function toReport(output: string): JSONReport {
  try {
    return JSON.parse(output.slice(output.indexOf('{"issues"')));
  } catch (cause) {
    throw new Error(`Cannot parse knip's report: "${output.slice(0, 2000)}"`, { cause });
  }
}

function toFindings({ file, ...kinds }: Omit<JSONReportEntry, "owners">): Finding[] {
  return Object.entries(kinds).flatMap(([kind, items]) =>
    items.flat().map((item) => ({
      path: file,
      line: "line" in item ? (item.line ?? 1) : 1,
      rule: ruleOfKind[kind] ?? kind,
      message: `Remove or use "${item.name}" (${kind})`,
    })),
  );
}
