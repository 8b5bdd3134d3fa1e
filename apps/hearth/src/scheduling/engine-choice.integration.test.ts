import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { createFakeEngine } from "@hearth-and-keep/engine/testing";
import { FailureError } from "@hearth-and-keep/failures";
import { makeTemporaryFolder, preparePython, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { writeChosenEngine } from "../engines/chosen-engine.ts";
import { cacheSelfTest } from "../engines/self-test-results.ts";
import { chooseEngine, withFallback } from "./engine-choice.ts";

const never = new AbortController().signal;
const loadSettings = { threads: 1, gpuLayers: 0 };
const loading = { signal: never, onProgress: () => undefined };
const tinyPlan = { contextTokens: 128, sequences: 1, purpose: "generate", ...loadSettings } as const;

function createOptions(folder: string) {
  const warnings: string[] = [];
  const onWarning = (message: string): void => void warnings.push(message);
  return { warnings, options: { locations: { folder, searchPath: [] }, loadSettings, onWarning } };
}

/** The Python environment of the tests has the package, so a link to it is an installed engine. */
async function linkEnvironment(folder: string): Promise<void> {
  await symlink((await preparePython()).folder, join(folder, "xllamacpp-2026.10.11549"));
}

test("with no other engine installed, the built-in engine is used without a self-test", async () => {
  await using folder = await makeTemporaryFolder("choice");
  const { options, warnings } = createOptions(folder.path);
  const { program, summary } = await chooseEngine(undefined, options);
  expect(program).toEqual({ kind: "binding" });
  expect(summary).toBe("Engine: built-in, the only one installed");
  expect(await readdir(folder.path)).toEqual([]);
  expect(warnings).toEqual([]);
});

test("a requested engine that is missing is an error; a stored choice that is missing is a warning", async () => {
  await using folder = await makeTemporaryFolder("choice");
  const { options, warnings } = createOptions(folder.path);
  await expect(chooseEngine("xllamacpp", options)).rejects.toMatchObject({
    failure: { kind: "engine-missing", engine: "xllamacpp" },
  });
  await writeChosenEngine(folder.path, "xllamacpp");
  const { program, summary } = await chooseEngine(undefined, options);
  expect(program).toEqual({ kind: "binding" });
  const cause =
    'the chosen engine xllamacpp is no longer installed: xllamacpp is not installed; run "hearth engine install"';
  expect(summary).toBe(`Engine: built-in, because ${cause}`);
  expect(warnings).toEqual([`Using the built-in engine, because ${cause}`]);
  await chooseEngine("auto", options);
  expect(warnings).toHaveLength(1);
});

test("an engine that fails its self-test is not used, requested or not, and is tested only once", async () => {
  await using folder = await makeTemporaryFolder("choice");
  const programs = join(folder.path, "xllamacpp-1.2", "bin");
  await mkdir(programs, { recursive: true });
  const script = join(programs, "python");
  await writeFile(script, "#!/bin/sh\nexit 1\n");
  await chmod(script, 0o755);
  const { options, warnings } = createOptions(folder.path);
  const first = await chooseEngine(undefined, options);
  expect(first.summary).toBe("Engine: built-in, xllamacpp 1.2 failed its self-test");
  const results = (): Promise<string> => readFile(join(folder.path, "self-tests.json"), "utf8");
  const found = await results();
  const again = await chooseEngine("xllamacpp", options);
  expect(await results()).toBe(found);
  expect(again.program).toEqual({ kind: "binding" });
  expect(warnings).toEqual(["The engine xllamacpp failed its self-test; using the built-in engine"]);
}, 60_000);

test("llama.cpp's own server passes its self-test and runs models", async () => {
  await using folder = await makeTemporaryFolder("choice");
  await linkEnvironment(folder.path);
  const { options, warnings } = createOptions(folder.path);
  const auto = await chooseEngine(undefined, options);
  expect(auto.summary).toMatch(/^Engine: .+(?:times as fast as|as fast as|the fastest on this machine)/u);
  const { driver, summary } = await chooseEngine("xllamacpp", options);
  expect(summary).toBe("Engine: xllamacpp 2026.10.11549, as requested");
  const modelPath = await testModel("tiny-llama.gguf");
  await using engine = await driver.load({ modelPath, ...tinyPlan }, loading);
  expect(engine.describe().driver).toBe("llama.cpp's own server");
  expect(warnings).toEqual([]);
}, 120_000);

test("a model with a projector runs on llama.cpp's own server even if the built-in engine is chosen", async () => {
  await using folder = await makeTemporaryFolder("choice");
  await linkEnvironment(folder.path);
  const { driver, program } = await chooseEngine("binding", createOptions(folder.path).options);
  expect(program).toEqual({ kind: "binding" });
  const modelPath = await testModel("tiny-llama.gguf");
  const projectorPath = await testModel("tiny-projector.gguf");
  await using textOnly = await driver.load({ modelPath, ...tinyPlan }, loading);
  await using vision = await driver.load({ modelPath, projectorPath, ...tinyPlan }, loading);
  expect([textOnly, vision].map((engine) => engine.describe().canSeeImages)).toEqual([false, true]);
}, 120_000);

test("a model with a projector is not loaded by a program that failed its self-test", async () => {
  await using folder = await makeTemporaryFolder("choice");
  await linkEnvironment(folder.path);
  const compiled = join(folder.path, "llama-server-3.22.1");
  await mkdir(compiled);
  const path = join(compiled, "llama-server");
  await writeFile(path, "#!/bin/sh\nexit 1\n");
  await chmod(path, 0o755);
  const program = { kind: "llama-server", path, isCompiled: true } as const;
  await cacheSelfTest(folder.path, program, { works: false, reason: "it crashed" });
  const { options, warnings } = createOptions(folder.path);
  const { driver } = await chooseEngine("binding", options);
  const modelPath = await testModel("tiny-llama.gguf");
  const projectorPath = await testModel("tiny-projector.gguf");
  await using vision = await driver.load({ modelPath, projectorPath, ...tinyPlan }, loading);
  expect(vision.describe().canSeeImages).toBe(true);
  expect(warnings).toEqual([]);
}, 120_000);

const plan: LoadPlan = { modelPath: "/x", ...tinyPlan };
const fallback: EngineDriver = {
  load: () => Promise.resolve(createFakeEngine(() => [], { driver: "second" })),
};

function createFailingDriver(reason: unknown): {
  readonly driver: EngineDriver;
  readonly warnings: string[];
} {
  const warnings: string[] = [];
  const driver = withFallback(
    { load: () => Promise.reject(reason) },
    {
      binding: () => Promise.resolve(fallback),
      name: "xllamacpp",
      onWarning: (message) => void warnings.push(message),
    },
  );
  return { driver, warnings };
}

test.each([
  new FailureError<EngineFailure>({ kind: "engine-crashed", exitCode: 1, signal: null }),
  new FailureError<EngineFailure>({ kind: "load-timed-out", seconds: 60 }),
  new FailureError<EngineFailure>({ kind: "model-quarantined", reason: "it crashed", retryAfterSeconds: 60 }),
  new Error("spawn failed"),
])(
  "a load that fails because of the engine (%s) falls back to the built-in engine with a warning",
  async (error) => {
    const { driver, warnings } = createFailingDriver(error);
    const engine = await driver.load(plan, loading);
    expect(engine.describe().driver).toBe("second");
    expect(warnings).toEqual(["A model failed to start on xllamacpp; running it on the built-in engine"]);
  },
);

test.each([
  new FailureError<EngineFailure>({ kind: "model-invalid", reason: "not a model" }),
  new FailureError<EngineFailure>({ kind: "insufficient-memory", neededBytes: null }),
  new FailureError<EngineFailure>({ kind: "sandbox-unavailable", reason: "it would run as root" }),
])("a load that fails because of the model (%s) has no fallback", async (error) => {
  const { driver, warnings } = createFailingDriver(error);
  await expect(driver.load(plan, loading)).rejects.toBe(error);
  expect(warnings).toEqual([]);
});

test("a cancelled load has no fallback", async () => {
  const { driver, warnings } = createFailingDriver(new Error("aborted"));
  await expect(driver.load(plan, { ...loading, signal: AbortSignal.abort() })).rejects.toThrow("aborted");
  expect(warnings).toEqual([]);
});
