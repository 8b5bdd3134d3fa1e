import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allLines } from "./all-lines.ts";
import { root } from "./run-to-end.ts";

const claimsProvenByTests = new Map(
  allLines.flatMap(({ topic, line, tests }) => (tests === undefined ? [] : [[`${topic} ${line}`, tests]])),
);
const testFiles = globSync(
  "{apps,packages,checks,conformance,bench,scripts,sdks,integrations}/**/*.test.ts",
  {
    cwd: root,
    exclude: (path) => path.endsWith("node_modules"),
  },
);

test("a test that records a claim's figure is one of the tests that prove the claim", () => {
  const recorded = testFiles.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/claim: "([a-z]+ \d+)"/gu)].map(([, claim = ""]) => ({
      file,
      claim,
    })),
  );
  expect(recorded.length).toBeGreaterThan(100);
  const missing = recorded.filter(
    ({ file, claim }) => claimsProvenByTests.get(claim)?.some((path) => file.startsWith(path)) === false,
  );
  expect(missing).toEqual([]);
});

test("every file and folder that a claim names exists", () => {
  const named = [...claimsProvenByTests].flatMap(([claim, paths]) => paths.map((path) => ({ claim, path })));
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
});
