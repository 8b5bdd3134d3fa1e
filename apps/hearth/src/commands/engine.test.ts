import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";

const program = fileURLToPath(new URL("../../bin/hearth.js", import.meta.url));
const run = promisify(execFile);

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await makeTemporaryFolder("engine-command");
});
afterAll(() => folder[Symbol.asyncDispose]());

async function hearth(words: readonly string[], enginesFolder = folder.path) {
  const environment = { PATH: "/nowhere", HOME: folder.path, HEARTH_ENGINES_FOLDER: enginesFolder };
  return run(process.execPath, [program, "engine", ...words], { env: environment }).catch(
    (problem) => problem,
  );
}

function chosen(): Promise<string> {
  return readFile(join(folder.path, "chosen-engine"), "utf8");
}

test("list tells what is there, what is not, which is used, and how to get more", async () => {
  const { stdout } = await hearth(["list"]);
  expect(stdout).toMatch(/^ENGINE +STATE +SELF-TEST\n/u);
  expect(stdout).toMatch(/^built-in +works +\d+ tokens\/s +used$/mu);
  expect(stdout).toMatch(/^llama-server +not installed$/mu);
  expect(stdout).toMatch(/^xllamacpp +not installed$/mu);
  expect(stdout).toContain("Engine: built-in, no other one is installed\n");
  expect(stdout).toContain("Type hearth engine install");
  const { stdout: json } = await hearth(["list", "--json"]);
  expect(JSON.parse(json)).toEqual({
    engines: [
      { engine: "binding", name: "built-in", works: true, tokensPerSecond: expect.any(Number), isUsed: true },
    ],
    missing: ["llama-server", "xllamacpp"],
    choice: "Engine: built-in, no other one is installed",
  });
});

test("use writes the choice down, and refuses what is not there or unheard of", async () => {
  const { stdout } = await hearth(["use", "binding"]);
  expect(stdout).toContain("Engine: built-in, it was asked for\n");
  expect(await chosen()).toBe("binding\n");
  const missing = await hearth(["use", "xllamacpp"]);
  expect(missing).toMatchObject({
    code: 2,
    stderr: "xllamacpp is not installed; type hearth engine install\n",
  });
  const unheard = await hearth(["use", "vllm"]);
  expect(unheard).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no engine "vllm"') });
  expect(await chosen()).toBe("binding\n");
  await hearth(["use", "auto"]);
  expect(await chosen()).toBe("auto\n");
});

test("install and build say in one sentence what this machine lacks", async () => {
  expect(await hearth(["install"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Python 3.10"),
  });
  expect(await hearth(["build"])).toMatchObject({ code: 2, stderr: expect.stringContaining("cmake is not") });
});

test("a broken engine is listed with what is wrong with it", async () => {
  await using other = await makeTemporaryFolder("engine-command");
  const path = join(other.path, "llama-server");
  await mkdir(other.path, { recursive: true });
  await writeFile(path, "#!/bin/sh\nexit 1\n");
  await chmod(path, 0o755);
  const { stdout } = await hearth(["list", "--llama-server", path], other.path);
  expect(stdout).toMatch(/^llama-server +fails: it /mu);
  expect(stdout).toContain("Engine: built-in, llama-server failed its self-test\n");
}, 60_000);
