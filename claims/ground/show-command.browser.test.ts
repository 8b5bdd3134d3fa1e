import { execFileSync, spawnSync } from "node:child_process";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { allLines } from "../all-lines.ts";
import { cloneInto, linkPackages } from "./clean-clone.ts";
import { environmentOfOlderNode } from "./older-node.ts";

/** In CI the gate itself has just installed the packages of a clean clone by the same script. */
const hasPackages = chooseSize({ ci: true, show: false, nightly: false });

let folder: TemporaryFolder;
let clone = "";
let environment: NodeJS.ProcessEnv = {};

beforeAll(async () => {
  folder = await makeTemporaryFolder("show-command");
  clone = cloneInto(folder.path);
  if (hasPackages) linkPackages(clone);
  environment = environmentOfOlderNode(folder.path);
}, 300_000);
afterAll(() => folder[Symbol.asyncDispose]());

function show(...args: readonly string[]) {
  return spawnSync("npm", ["run", "-s", "show", ...(args.length > 0 ? ["--", ...args] : [])], {
    cwd: clone,
    env: environment,
    encoding: "utf8",
  });
}

test("in a clean clone with Node 20, show lists every claim of every topic", { timeout: 300_000 }, () => {
  expect(execFileSync("node", ["--version"], { env: environment, encoding: "utf8" })).toMatch(/^v20\./);
  const listed = show();
  expect(listed.stderr).not.toContain("Error");
  const lines = listed.stdout.trim().split("\n");
  expect(lines).toEqual(allLines.map(({ topic, line, title }) => `${topic} ${line} ${title}`));
});

test("in the same clone, one claim runs alone, prints its figure last and reports the result as its exit code", {
  timeout: 300_000,
}, () => {
  const proven = show("plain", "2");
  expect(proven.stdout.trim().split("\n").at(-1)).toMatch(/^holds: .*\d+ of \d+/);
  expect(proven.status).toBe(0);
  // Whether or not CI has run on this tree with this cache, the claim must report a result and not crash.
  const time = show("ground", "1");
  expect(time.stdout.trim().split("\n").at(-1)).toMatch(/^(holds|FALLS SHORT): /);
  expect(time.status).toBe(time.stdout.includes("holds: ") ? 0 : 1);
  recordFigure({
    claim: "ground 6",
    text: `${allLines.length} lines listed and one run, started by Node 20`,
  });
});

test("an unknown claim is rejected with an error message", () => {
  const rejected = show("ground", "99");
  expect(rejected.status).toBe(2);
  expect(rejected.stderr).toContain('There is no claim "ground 99"');
});
