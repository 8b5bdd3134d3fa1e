import { expect, test } from "vitest";
import { buildMatrix, type FolderContents } from "./environment-matrix.ts";

function contents(folder: string, ...names: readonly string[]): FolderContents {
  const secrets = names.map((name) => [name, { id: name, folder, path: `${folder}/${name}` }] as const);
  return { folder, secrets: new Map(secrets) };
}

const summarize = (environments: readonly FolderContents[], base?: FolderContents) =>
  buildMatrix(environments, base).map(({ name, cells, isComplete }) => [
    name,
    cells.map(({ state }) => state).join(" "),
    isComplete,
  ]);

test("a name is set, inherited from the base, or missing in each environment", () => {
  const environments = [contents("/dev", "HOST", "api/KEY"), contents("/prod", "HOST", "ONLY_HERE")];
  expect(summarize(environments, contents("/base", "REGION", "HOST"))).toEqual([
    ["HOST", "set set", true],
    ["ONLY_HERE", "missing set", false],
    ["REGION", "inherited inherited", true],
    ["api/KEY", "set missing", false],
  ]);
});

test("without a base nothing is inherited", () => {
  expect(summarize([contents("/dev", "A"), contents("/prod")])).toEqual([["A", "set missing", false]]);
  expect(summarize([contents("/dev"), contents("/prod")])).toEqual([]);
});
