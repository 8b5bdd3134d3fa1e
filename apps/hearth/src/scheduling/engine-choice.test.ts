import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { createScriptedEngine } from "@hearth-and-keep/engine/testing";
import { FailureError } from "@hearth-and-keep/failures";
import { makeTemporaryFolder, preparePython, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { writeChosenEngine } from "../engines/chosen-engine.ts";
import { chooseEngine, withFallback } from "./engine-choice.ts";

const never = new AbortController().signal;
const loadSettings = { threads: 1, gpuLayers: 0 };
const loading = { signal: never, onProgress: () => undefined };
const tinyPlan = { contextTokens: 128, sequences: 1, purpose: "generate", ...loadSettings } as const;

function choosing(folder: string) {
  const warnings: string[] = [];
  const onWarning = (sentence: string): void => void warnings.push(sentence);
  return { warnings, parts: { places: { folder, searchPath: [] }, loadSettings, onWarning } };
}

/** The environment of the tests has the package, so a link to it is an installed engine. */
async function linkEnvironment(folder: string): Promise<void> {
  await symlink((await preparePython()).folder, join(folder, "xllamacpp-2026.10.11549"));
}

test("with nothing installed the built-in engine is taken at once, and nothing is written", async () => {
  await using folder = await makeTemporaryFolder("choice");
  const { parts, warnings } = choosing(folder.path);
  const { program, sentence } = await chooseEngine(undefined, parts);
  expect(program).toEqual({ kind: "binding" });
  expect(sentence).toBe("Engine: built-in, no other one is installed");
  expect(await readdir(folder.path)).toEqual([]);
  expect(warnings).toEqual([]);
});

test("an engine that is asked for and missing is refused; one that was chosen before and is gone is told of", async () => {
  await using folder = await makeTemporaryFolder("choice");
  const { parts, warnings } = choosing(folder.path);
  await expect(chooseEngine("xllamacpp", parts)).rejects.toMatchObject({
    failure: { kind: "engine-missing", engine: "xllamacpp" },
  });
  await writeChosenEngine(folder.path, "xllamacpp");
  const { program, sentence } = await chooseEngine(undefined, parts);
  expect(program).toEqual({ kind: "binding" });
  const gone =
    "the engine that was chosen, xllamacpp, is not there any more: xllamacpp is not installed; type hearth engine install";
  expect(sentence).toBe(`Engine: built-in, because ${gone}`);
  expect(warnings).toEqual([`The built-in engine is used, because ${gone}`]);
  await chooseEngine("auto", parts);
  expect(warnings).toHaveLength(1);
});

test("an engine that fails its self-test is passed over, asked for or not, and tested only once", async () => {
  await using folder = await makeTemporaryFolder("choice");
  const programs = join(folder.path, "xllamacpp-1.2", "bin");
  await mkdir(programs, { recursive: true });
  const script = join(programs, "python");
  await writeFile(script, "#!/bin/sh\nexit 1\n");
  await chmod(script, 0o755);
  const { parts, warnings } = choosing(folder.path);
  const first = await chooseEngine(undefined, parts);
  expect(first.sentence).toBe("Engine: built-in, xllamacpp 1.2 failed its self-test");
  const results = (): Promise<string> => readFile(join(folder.path, "self-tests.json"), "utf8");
  const found = await results();
  const again = await chooseEngine("xllamacpp", parts);
  expect(await results()).toBe(found);
  expect(again.program).toEqual({ kind: "binding" });
  expect(warnings).toEqual(["The engine xllamacpp failed its self-test, so the built-in one is used"]);
}, 60_000);

test("llama.cpp's own server passes its self-test and then runs models", async () => {
  await using folder = await makeTemporaryFolder("choice");
  await linkEnvironment(folder.path);
  const { parts, warnings } = choosing(folder.path);
  const auto = await chooseEngine(undefined, parts);
  expect(auto.sentence).toMatch(/^Engine: .+(?:times as fast here|as fast here as|the fastest one here)/u);
  const { driver, sentence } = await chooseEngine("xllamacpp", parts);
  expect(sentence).toBe("Engine: xllamacpp 2026.10.11549, it was asked for");
  const modelPath = await testModel("tiny-llama.gguf");
  await using engine = await driver.load({ modelPath, ...tinyPlan }, loading);
  expect(engine.describe().driver).toBe("llama.cpp's own server");
  expect(warnings).toEqual([]);
}, 120_000);

test("a model with a projector goes to llama.cpp's own server though the built-in engine is chosen", async () => {
  await using folder = await makeTemporaryFolder("choice");
  await linkEnvironment(folder.path);
  const { driver, program } = await chooseEngine("binding", choosing(folder.path).parts);
  expect(program).toEqual({ kind: "binding" });
  const modelPath = await testModel("tiny-llama.gguf");
  const projectorPath = await testModel("tiny-projector.gguf");
  await using blind = await driver.load({ modelPath, ...tinyPlan }, loading);
  await using seeing = await driver.load({ modelPath, projectorPath, ...tinyPlan }, loading);
  expect([blind, seeing].map((engine) => engine.describe().canSeeImages)).toEqual([false, true]);
}, 120_000);

const plan: LoadPlan = { modelPath: "/x", ...tinyPlan };
const standIn: EngineDriver = {
  load: () => Promise.resolve(createScriptedEngine(() => [], { driver: "second" })),
};

function failing(problem: unknown): { readonly driver: EngineDriver; readonly warnings: string[] } {
  const warnings: string[] = [];
  const driver = withFallback(
    { load: () => Promise.reject(problem) },
    {
      binding: () => Promise.resolve(standIn),
      name: "xllamacpp",
      onWarning: (sentence) => void warnings.push(sentence),
    },
  );
  return { driver, warnings };
}

test.each([
  new FailureError<EngineFailure>({ kind: "engine-died", exitCode: 1, signal: null }),
  new FailureError<EngineFailure>({ kind: "load-timed-out", seconds: 60 }),
  new FailureError<EngineFailure>({ kind: "model-quarantined", reason: "it died", retryAfterSeconds: 60 }),
  new Error("spawn failed"),
])(
  "a load that fails for the engine's reason (%s) is made by the built-in one, with a warning",
  async (problem) => {
    const { driver, warnings } = failing(problem);
    const engine = await driver.load(plan, loading);
    expect(engine.describe().driver).toBe("second");
    expect(warnings).toEqual(["A model did not start on xllamacpp, so it runs on the built-in engine"]);
  },
);

test.each([
  new FailureError<EngineFailure>({ kind: "model-invalid", reason: "it is no model" }),
  new FailureError<EngineFailure>({ kind: "memory-lacking", neededBytes: null }),
])("a load that fails for the model's reason (%s) fails", async (problem) => {
  const { driver, warnings } = failing(problem);
  await expect(driver.load(plan, loading)).rejects.toBe(problem);
  expect(warnings).toEqual([]);
});

test("a load that was called off is not made again elsewhere", async () => {
  const { driver, warnings } = failing(new Error("aborted"));
  await expect(driver.load(plan, { ...loading, signal: AbortSignal.abort() })).rejects.toThrow("aborted");
  expect(warnings).toEqual([]);
});
