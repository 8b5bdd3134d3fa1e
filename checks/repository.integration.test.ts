import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { findCommitMessages, listCheckedCommits } from "./commit-messages.ts";
import { describeFinding, type Finding, type Rule } from "./finding.ts";
import { lockedPackages, productionPackages } from "./package-graph.ts";
import { rules } from "./rules/index.ts";
import { collectNames, plainNames } from "./rules/plain-names.ts";
import { collectSeededStarts, seededServers } from "./rules/seeded-servers.ts";
import { readTree, repositoryFolder, typeScriptFiles } from "./source-tree.ts";

const files = await readTree(repositoryFolder);
/** Some rules are judged by two tests, and take seconds. */
const found = new Map<Rule, readonly Finding[]>();

function findOnce(rule: Rule): readonly Finding[] {
  const findings = found.get(rule) ?? rule.find(files);
  found.set(rule, findings);
  return findings;
}

test.for(rules)("the repository keeps the rule $name", (rule) => {
  expect(findOnce(rule).map(describeFinding)).toEqual([]);
});

test("no path, export, setting or route contains a banned word", () => {
  const names = collectNames(files);
  const kinds = Map.groupBy(names, ({ kind }) => kind);
  const banned = findOnce(plainNames);
  expect(banned).toEqual([]);
  for (const kind of ["path", "export", "setting", "route"] as const)
    expect(kinds.get(kind)?.length ?? 0, kind).toBeGreaterThan(20);
  recordFigure({
    claim: "plain 1",
    text: `${banned.length} banned words in ${names.length} names: ${[...kinds].map(([kind, list]) => `${list.length} ${kind}s`).join(", ")}`,
    counted: { reached: names.length, needed: 1000 },
  });
});

test("no request to real weights in a test depends on chance (seeded-servers)", () => {
  const starts = collectSeededStarts(files);
  const kinds = Map.groupBy(starts, ({ kind }) => kind);
  const unseeded = findOnce(seededServers);
  const text = `${unseeded.length} unseeded of ${starts.length} server starts, environments and seeds in test code: ${[...kinds].map(([kind, list]) => `${list.length} × ${kind}`).join(", ")}`;
  process.stdout.write(`${text}\n`);
  expect(unseeded.map(describeFinding)).toEqual([]);
  const minCounts = {
    "vitest project": 5,
    "test server": 150,
    process: 50,
    environment: 25,
    "llama-server": 20,
    driver: 20,
    "explicit seed": 50,
  } as const;
  for (const [kind, count] of Object.entries(minCounts))
    expect(starts.filter((start) => start.kind === kind).length, kind).toBeGreaterThanOrEqual(count);
  recordFigure({ claim: "plain 7", text, counted: { reached: starts.length, needed: 300 } });
});

test("every new commit has a subject that summarises the change and a body that explains why (commit-messages)", async () => {
  const commits = await listCheckedCommits(repositoryFolder);
  process.stdout.write(`${commits.length} commit messages checked\n`);
  expect((await findCommitMessages(repositoryFolder)).map(describeFinding)).toEqual([]);
});

test("the rules run on this repository and not on an empty folder", () => {
  const paths = files.map(({ path }) => path);
  expect(paths).toContain("package-lock.json");
  expect(paths).toContain("checks/repository.integration.test.ts");
  expect(paths.filter((path) => path.includes("node_modules/"))).toEqual([]);
  process.stdout.write(
    `${typeScriptFiles(files).length} TypeScript files of ${files.length} files checked\n`,
  );
});

test("the licences of all installed packages are known, and test dependencies are not among them", () => {
  const shipped = productionPackages(lockedPackages(files));
  process.stdout.write(`${shipped.length} production packages have an allowed licence\n`);
  expect(shipped).toContain("node_modules/pg");
  expect(shipped).toContain("node_modules/fastify");
  expect(shipped).not.toContain("node_modules/oidc-provider");
  expect(shipped).not.toContain("node_modules/vitest");
});
