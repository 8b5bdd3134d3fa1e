import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FailureError } from "@hearth-and-keep/failures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import workspace from "../../../../package.json" with { type: "json" };
import { readEngineLocations } from "../config.ts";
import { buildBinding } from "./build-binding.ts";
import { type EngineSetupFailure, formatEngineSetupFailure } from "./engine-programs.ts";
import { findEngines } from "./find-engines.ts";
import { installXllamacpp } from "./install-xllamacpp.ts";
import { runTool } from "./run-tool.ts";
import { xllamacppRequirements, xllamacppVersion } from "./xllamacpp-release.ts";

const locked = fileURLToPath(new URL("../../../../scripts/python/requirements.txt", import.meta.url));
const onStep = (): void => undefined;

async function messageOf(work: Promise<unknown>): Promise<string> {
  const error = await work.catch((reason: unknown) => reason);
  // The functions under test only throw failures of this union.
  if (error instanceof FailureError) return formatEngineSetupFailure(error.failure as EngineSetupFailure);
  throw error;
}

async function putScript(folder: string, name: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`);
  await chmod(join(folder, name), 0o755);
}

test("users install the same version with the same hashes that our tests run", async () => {
  const entry = /^xllamacpp==.+(?:\n {4}--hash=.+)+/mu.exec(await readFile(locked, "utf8"))?.[0] ?? "";
  expect(entry).toContain(`xllamacpp==${xllamacppVersion} `);
  const hashes = xllamacppRequirements.match(/sha256:[0-9a-f]{64}/gu) ?? [];
  expect(hashes).toHaveLength(10);
  expect(hashes.filter((hash) => !entry.includes(hash))).toEqual([]);
});

test("an install creates a working environment, and a second install changes nothing", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const locations = readEngineLocations({ enginesFolder: folder.path });
  // Left behind by a killed process: no process has this id.
  await mkdir(join(folder.path, "unfinished-xllamacpp-99999999"));
  const messages: string[] = [];
  const program = await installXllamacpp(locations, { onStep: (message) => messages.push(message) });
  expect(findEngines(locations)).toContainEqual(program);
  expect(await readdir(folder.path)).toEqual([`xllamacpp-${xllamacppVersion}`]);
  const command = join(folder.path, `xllamacpp-${xllamacppVersion}`, "bin", "python");
  const args = ["-c", "import xllamacpp; print(xllamacpp.__name__)"];
  expect(await runTool({ step: "import xllamacpp", command, args })).toBe("xllamacpp\n");
  expect(messages).toHaveLength(2);
  await installXllamacpp(locations, { onStep: (message) => messages.push(message) });
  expect(messages.at(-1)).toContain("is already installed");
}, 180_000);

test("a package with an unknown hash is rejected and leaves nothing behind", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const locations = readEngineLocations({ enginesFolder: folder.path });
  const requirements = `xllamacpp==${xllamacppVersion} --hash=sha256:${"0".repeat(64)}`;
  const message = await messageOf(installXllamacpp(locations, { onStep, requirements }));
  expect(message).toMatch(/^Cannot install xllamacpp: .*hash/iu);
  expect(message).not.toContain(folder.path);
  expect(await readdir(folder.path)).toEqual([]);
}, 180_000);

test("a missing Python, one that is too old and one without venv are each reported", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const searchPath = [join(folder.path, "programs")];
  const locations = { folder: join(folder.path, "engines"), searchPath };
  const install = (): Promise<string> => messageOf(installXllamacpp(locations, { onStep }));
  expect(await install()).toContain("needs Python 3.10 or newer on the PATH");
  await putScript(searchPath[0] ?? "", "python3", "echo old");
  expect(await install()).toContain("needs Python 3.10 or newer on the PATH");
  await putScript(searchPath[0] ?? "", "python3", 'case "$2" in *ensurepip*) exit 1;; *) echo new;; esac');
  expect(await install()).toContain("cannot create virtual environments");
});

test("a build reports the missing tool, and its advice names our version of the source", async () => {
  await using folder = await makeTemporaryFolder("engines");
  const programs = join(folder.path, "programs");
  const locations = { folder: join(folder.path, "engines"), searchPath: [programs] };
  const messages: string[] = [];
  for (const tool of ["cmake", "git", "c++"]) {
    messages.push(await messageOf(buildBinding(locations, { onStep })));
    await putScript(programs, tool, "exit 1");
  }
  messages.push(await messageOf(buildBinding(locations, { onStep })));
  expect(messages).toEqual([
    expect.stringContaining("cmake is not on the PATH"),
    expect.stringContaining("git is not on the PATH"),
    expect.stringContaining("no C++ compiler"),
    expect.stringContaining("no C++ compiler"),
  ]);
  await putScript(programs, "make", "exit 1");
  expect(await messageOf(buildBinding(locations, { onStep }))).toMatch(/^Cannot unpack the source/u);
  expect(await readdir(locations.folder)).toEqual([]);
  const advice = formatEngineSetupFailure({ kind: "tool-missing", tool: "engine-source" });
  expect(advice).toContain(`node-llama-cpp@${workspace.devDependencies["node-llama-cpp"]}"`);
});
