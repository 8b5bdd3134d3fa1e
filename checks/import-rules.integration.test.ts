import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { decryptionOnlyInSecretsAndKeys } from "./cases/decryption-only-in-secrets-and-keys.ts";
import { engineCallers } from "./cases/engine-callers.ts";
import { useCasesHaveNoHttp } from "./cases/use-cases-have-no-http.ts";
import { describeFinding } from "./finding.ts";
import { findForbiddenImports, importRuleNames } from "./import-rules.ts";
import { checks, tryChecks } from "./index.ts";
import { layOutTree } from "./lay-out-tree.ts";
import { readTree, repositoryFolder, typeScriptFiles } from "./source-tree.ts";

const byPackageName = {
  "decryption-only-in-secrets-and-keys": decryptionOnlyInSecretsAndKeys,
  "use-cases-have-no-http": useCasesHaveNoHttp,
  "engine-callers": engineCallers,
};

test("no import of the repository is forbidden, and every source file was analysed", async () => {
  const { findings, modules } = await findForbiddenImports(repositoryFolder);
  const sources = typeScriptFiles(await readTree(repositoryFolder))
    .map(({ path }) => path)
    .filter((path) => path.includes("/"));
  process.stdout.write(`${modules.length} modules seen for ${sources.length} source files\n`);
  expect(findings.map(describeFinding)).toEqual([]);
  expect(sources.filter((path) => !modules.includes(path))).toEqual([]);
  expect(modules.length).toBeGreaterThanOrEqual(sources.length);
  expect(sources.length).toBeGreaterThan(40);
  const trials = await tryChecks(checks.filter(({ name }) => importRuleNames.includes(name)));
  const firing = trials.filter(({ fires }) => fires).length;
  expect(firing).toBe(importRuleNames.length);
  recordFigure({
    claim: "plain 4",
    text: `0 forbidden imports in ${modules.length} modules; ${firing} of ${importRuleNames.length} import rules fire on their broken case`,
    counted: { reached: firing, needed: importRuleNames.length },
  });
});

test("a forbidden import by package name is detected", async () => {
  await using tree = await layOutTree(decryptionOnlyInSecretsAndKeys, "broken");
  const { findings } = await findForbiddenImports(tree.path);
  const messages = findings.map(({ message }) => message).join();
  expect(messages).toContain('Do not import "packages/envelope-crypto/src/index.ts"');
});

test("a tool that cannot resolve packages by name fails on every such import instead of ignoring it", async () => {
  const withoutExports = { enhancedResolveOptions: { exportsFields: [] } };
  for (const [rule, brokenCase] of Object.entries(byPackageName)) {
    await using broken = await layOutTree(brokenCase, "broken");
    const { findings } = await findForbiddenImports(broken.path, withoutExports);
    const unresolved = findings.filter((finding) => finding.rule === "every-import-resolves");
    const detected = findings.filter(
      (finding) => finding.rule === rule && finding.message.includes("packages/"),
    );
    expect(unresolved.map(({ message }) => message).join()).toContain("@hearth-and-keep/");
    expect(detected).toEqual([]);
  }
});
