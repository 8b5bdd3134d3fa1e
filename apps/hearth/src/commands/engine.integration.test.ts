import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  compileCacheEnvironment,
  makeTemporaryFolder,
  seededEnvironment,
  type TemporaryFolder,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";

const program = fileURLToPath(new URL("../../bin/hearth.js", import.meta.url));
const run = promisify(execFile);

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await makeTemporaryFolder("engine-command");
});
afterAll(() => folder[Symbol.asyncDispose]());

async function hearth(args: readonly string[], enginesFolder = folder.path) {
  const locations = { PATH: "/nowhere", HOME: folder.path, HEARTH_ENGINES_FOLDER: enginesFolder };
  const options = { env: { ...compileCacheEnvironment(), ...locations, ...seededEnvironment } };
  return run(process.execPath, [program, "engine", ...args], options).catch((error) => error);
}

function chosen(): Promise<string> {
  return readFile(join(folder.path, "chosen-engine"), "utf8");
}

test("list shows installed and missing engines, which one is used, and how to install more", async () => {
  const { stdout } = await hearth(["list"]);
  expect(stdout).toMatch(/^ENGINE +STATUS +SELF-TEST\n/u);
  expect(stdout).toMatch(/^built-in +works +\d+ tokens\/s +used$/mu);
  expect(stdout).toMatch(/^llama-server +not installed$/mu);
  expect(stdout).toMatch(/^xllamacpp +not installed$/mu);
  expect(stdout).toContain("Engine: built-in, the only one installed\n");
  expect(stdout).toContain(
    `Install llama.cpp's server with "hearth engine install" or "hearth engine build"\n`,
  );
  const { stdout: json } = await hearth(["list", "--json"]);
  expect(JSON.parse(json)).toEqual({
    engines: [
      { engine: "binding", name: "built-in", works: true, tokensPerSecond: expect.any(Number), isUsed: true },
    ],
    missing: ["llama-server", "xllamacpp", "vulkan", "cuda"],
    choice: "Engine: built-in, the only one installed",
  });
});

test("use stores the choice, and rejects an engine that is missing or unknown", async () => {
  const { stdout } = await hearth(["use", "binding"]);
  expect(stdout).toContain("Engine: built-in, as requested\n");
  expect(await chosen()).toBe("binding\n");
  const missing = await hearth(["use", "xllamacpp"]);
  expect(missing).toMatchObject({
    code: 2,
    stderr: 'xllamacpp is not installed; run "hearth engine install"\n',
  });
  const unknown = await hearth(["use", "vllm"]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('Unknown engine "vllm"') });
  expect(await chosen()).toBe("binding\n");
  await hearth(["use", "auto"]);
  expect(await chosen()).toBe("auto\n");
});

test("install and build report what this machine lacks in one message", async () => {
  expect(await hearth(["install"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Python 3.10"),
  });
  expect(await hearth(["install", "vulkan"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("npm is not on the PATH"),
  });
  expect(await hearth(["install", "vllm"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Cannot install "vllm"; use one of xllamacpp, vulkan, cuda'),
  });
  for (const args of [["build"], ["build", "llama-server"]]) {
    expect(await hearth(args)).toMatchObject({ code: 2, stderr: expect.stringContaining("cmake is not") });
  }
  expect(await hearth(["build", "vllm"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Cannot build "vllm"; use one of binding, llama-server'),
  });
});

test("a broken engine is listed with its error", async () => {
  await using other = await makeTemporaryFolder("engine-command");
  const path = join(other.path, "llama-server");
  await mkdir(other.path, { recursive: true });
  await writeFile(path, "#!/bin/sh\nexit 1\n");
  await chmod(path, 0o755);
  const { stdout } = await hearth(["list", "--llama-server", path], other.path);
  expect(stdout).toMatch(/^llama-server +fails: it /mu);
  expect(stdout).toContain("Engine: built-in, llama-server failed its self-test\n");
}, 60_000);
