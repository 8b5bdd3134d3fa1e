import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FailureError } from "@hearth-and-keep/failures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import workspace from "../../../../package.json" with { type: "json" };
import { readEnginePlaces } from "../config.ts";
import { buildBinding } from "./build-binding.ts";
import { type EngineSetupFailure, explainEngineSetup } from "./engine-programs.ts";
import { findEngines } from "./find-engines.ts";
import { installXllamacpp } from "./install-xllamacpp.ts";
import { runTool } from "./run-tool.ts";
import { xllamacppRequirements, xllamacppVersion } from "./xllamacpp-release.ts";

const locked = fileURLToPath(new URL("../../../../scripts/python/requirements.txt", import.meta.url));
const tell = (): void => undefined;

async function sentenceOf(work: Promise<unknown>): Promise<string> {
  const problem = await work.catch((reason: unknown) => reason);
  // What these functions throw when something is missing is of this union.
  if (problem instanceof FailureError) return explainEngineSetup(problem.failure as EngineSetupFailure);
  throw problem;
}

async function putScript(folder: string, name: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`);
  await chmod(join(folder, name), 0o755);
}

test("what a person installs is what our tests run, by version and by hash", async () => {
  const entry = /^xllamacpp==.+(?:\n {4}--hash=.+)+/mu.exec(await readFile(locked, "utf8"))?.[0] ?? "";
  expect(entry).toContain(`xllamacpp==${xllamacppVersion} `);
  const hashes = xllamacppRequirements.match(/sha256:[0-9a-f]{64}/gu) ?? [];
  expect(hashes).toHaveLength(10);
  expect(hashes.filter((hash) => !entry.includes(hash))).toEqual([]);
});

test("an install makes an environment that is found and works, and a second one changes nothing", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const places = readEnginePlaces({ enginesFolder: folder.path });
  // What a run that was killed left behind: no process has this number.
  await mkdir(join(folder.path, "unfinished-xllamacpp-99999999"));
  const told: string[] = [];
  const program = await installXllamacpp(places, { tell: (sentence) => told.push(sentence) });
  expect(findEngines(places)).toContainEqual(program);
  expect(await readdir(folder.path)).toEqual([`xllamacpp-${xllamacppVersion}`]);
  const command = join(folder.path, `xllamacpp-${xllamacppVersion}`, "bin", "python");
  const words = ["-c", "import xllamacpp; print(xllamacpp.__name__)"];
  expect(await runTool({ step: "look", command, words })).toBe("xllamacpp\n");
  expect(told).toHaveLength(2);
  await installXllamacpp(places, { tell: (sentence) => told.push(sentence) });
  expect(told.at(-1)).toContain("is installed already");
}, 180_000);

test("a package that is not the one we know is refused, and nothing of it stays", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const places = readEnginePlaces({ enginesFolder: folder.path });
  const requirements = `xllamacpp==${xllamacppVersion} --hash=sha256:${"0".repeat(64)}`;
  const sentence = await sentenceOf(installXllamacpp(places, { tell, requirements }));
  expect(sentence).toMatch(/^Cannot install xllamacpp: .*hash/iu);
  expect(sentence).not.toContain(folder.path);
  expect(await readdir(folder.path)).toEqual([]);
}, 180_000);

test("without a Python, with one that is too old, and with one that makes no environments, one sentence says so", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const searchPath = [join(folder.path, "programs")];
  const places = { folder: join(folder.path, "engines"), searchPath };
  const install = (): Promise<string> => sentenceOf(installXllamacpp(places, { tell }));
  expect(await install()).toContain("needs Python 3.10 or newer on the PATH");
  await putScript(searchPath[0] ?? "", "python3", "echo old");
  expect(await install()).toContain("needs Python 3.10 or newer on the PATH");
  await putScript(searchPath[0] ?? "", "python3", 'case "$2" in *ensurepip*) exit 1;; *) echo new;; esac');
  expect(await install()).toContain("cannot make environments");
});

test("a build says in one sentence which tool it misses, and its advice names our version of the source", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const programs = join(folder.path, "programs");
  const places = { folder: join(folder.path, "engines"), searchPath: [programs] };
  const missed: string[] = [];
  for (const tool of ["cmake", "git", "c++"]) {
    missed.push(await sentenceOf(buildBinding(places, { tell })));
    await putScript(programs, tool, "exit 1");
  }
  missed.push(await sentenceOf(buildBinding(places, { tell })));
  expect(missed).toEqual([
    expect.stringContaining("cmake is not on the PATH"),
    expect.stringContaining("git is not on the PATH"),
    expect.stringContaining("no C++ compiler"),
    expect.stringContaining("no C++ compiler"),
  ]);
  await putScript(programs, "make", "exit 1");
  expect(await sentenceOf(buildBinding(places, { tell }))).toMatch(/^Cannot unpack the source/u);
  expect(await readdir(places.folder)).toEqual([]);
  const advice = explainEngineSetup({ kind: "tool-missing", tool: "engine-source" });
  expect(advice).toContain(`node-llama-cpp@${workspace.devDependencies["node-llama-cpp"]} `);
});
