import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeFinding } from "./finding.ts";
import { fixturesFolder, layOutFixture } from "./fixture-tree.ts";
import { findForbiddenImports, importRuleNames } from "./import-rules.ts";
import { readTree, repositoryFolder, typeScriptFiles } from "./source-tree.ts";

test("no import of the repository is forbidden, and every source file was looked into", async () => {
  const { findings, modules } = await findForbiddenImports(repositoryFolder);
  const sources = typeScriptFiles(await readTree(repositoryFolder))
    .map(({ path }) => path)
    .filter((path) => path.includes("/"));
  process.stdout.write(`${modules.length} modules seen for ${sources.length} source files\n`);
  expect(findings.map(describeFinding)).toEqual([]);
  expect(sources.filter((path) => !modules.includes(path))).toEqual([]);
  expect(modules.length).toBeGreaterThanOrEqual(sources.length);
  expect(sources.length).toBeGreaterThan(40);
});

test("a forbidden import by package name is seen", async () => {
  await using tree = await layOutFixture("imports/plaintext-has-two-rooms/broken");
  const { findings } = await findForbiddenImports(tree.path);
  const messages = findings.map(({ message }) => message).join();
  expect(messages).toContain('Do not import "packages/envelope-crypto/src/index.ts"');
});

test("a tool that cannot resolve packages by name is red on every such import, never silent", async () => {
  const withoutExports = { enhancedResolveOptions: { exportsFields: [] } };
  for (const rule of ["plaintext-has-two-rooms", "decisions-are-http-blind", "engine-has-two-callers"]) {
    await using broken = await layOutFixture(`imports/${rule}/broken`);
    const { findings } = await findForbiddenImports(broken.path, withoutExports);
    const unseen = findings.filter((finding) => finding.rule === "every-import-resolves");
    const seen = findings.filter((finding) => finding.rule === rule && finding.message.includes("packages/"));
    expect(unseen.map(({ message }) => message).join()).toContain("@hearth-and-keep/");
    expect(seen).toEqual([]);
  }
});

test("every import rule has a fixture and every fixture a rule", async () => {
  const fixtures = await readdir(join(fixturesFolder, "imports"));
  expect(fixtures.toSorted()).toEqual(importRuleNames.toSorted());
});
