import { stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineDriver, EngineFailure } from "@hearth-and-keep/engine";
import { createScriptedEngine, type Script } from "@hearth-and-keep/engine/testing";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { testTogether } from "./self-test.ts";
import { makeSelfTestModel } from "./self-test-model.ts";
import { recallSelfTest, rememberSelfTest } from "./self-test-results.ts";

const loadSettings = { threads: 1, gpuLayers: 0 };
const died: EngineFailure = { kind: "engine-died", exitCode: 1, signal: null };

const hoursAgo = (hours: number): number => Date.now() - hours * 3_600_000;

function playing(script: Script): EngineDriver {
  return { load: () => Promise.resolve(createScriptedEngine(script)) };
}

test("the built-in engine passes with a model of some 50 MB that takes no room on the disk", async () => {
  await using folder = await makeTemporaryFolder("self-test");
  const modelPath = await makeSelfTestModel(folder.path);
  const { size, blocks } = await stat(modelPath);
  expect(size).toBeGreaterThan(50_000_000);
  expect(blocks * 512).toBeLessThan(100_000);
  const silent = playing(() => [{ do: "end", reason: "stop" }]);
  const plan = { modelPath, loadSettings, withinSeconds: 60 };
  const results = await testTogether([createLlamaDriver(), silent, createLlamaDriver()], plan);
  expect(results.map(({ works }) => works)).toEqual([true, false, true]);
  expect(results[0]).toEqual({ works: true, tokensPerSecond: expect.any(Number) });
});

test.each([
  ["cannot be started", { load: () => Promise.reject(new Error("spawn ENOENT")) }, "it cannot be started"],
  ["dies", playing(() => [{ do: "fail", failure: died }]), "it ended by itself"],
  ["says too little", playing(() => [{ do: "end", reason: "stop" }]), "it wrote 0 tokens where 4"],
  ["is silent", playing(() => [{ do: "wait", milliseconds: 60_000 }]), "it was not done within 0.2 s"],
  [
    "never loads",
    { load: (_plan, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)) },
    "it was not done within 0.2 s",
  ],
] as const satisfies readonly (readonly [string, EngineDriver, string])[])(
  "an engine that %s fails, in words and without a path",
  async (_what, driver, reason) => {
    const [result] = await testTogether([driver], { modelPath: "/x", loadSettings, withinSeconds: 0.2 });
    expect(result).toEqual({ works: false, reason: expect.stringContaining(reason) });
    expect(JSON.stringify(result)).not.toMatch(/ENOENT|\//u);
  },
);

test("what was found is remembered for that very program, and a file that is not ours is as none", async () => {
  await using folder = await makeTemporaryFolder("self-test");
  const path = join(folder.path, "llama-server");
  await writeFile(path, "one");
  const program = { kind: "llama-server", path } as const;
  const result = { works: true, tokensPerSecond: 12.5 } as const;
  await rememberSelfTest(folder.path, program, result);
  expect(await recallSelfTest(folder.path, program)).toEqual(result);
  await utimes(path, 1, 1);
  expect(await recallSelfTest(folder.path, program)).toBeUndefined();
  await rememberSelfTest(folder.path, program, result);
  await writeFile(join(folder.path, "self-tests.json"), '[{"key":1},{"works":true},null]');
  expect(await recallSelfTest(folder.path, program)).toBeUndefined();
  await writeFile(join(folder.path, "self-tests.json"), "{");
  expect(await recallSelfTest(folder.path, program)).toBeUndefined();
});

test("a failure is forgotten after a day, a success after a month", async () => {
  await using folder = await makeTemporaryFolder("self-test");
  const program = { kind: "binding" } as const;
  for (const [result, days] of [
    [{ works: false, reason: "it ended by itself" }, 1],
    [{ works: true, tokensPerSecond: 1 }, 30],
  ] as const) {
    await rememberSelfTest(folder.path, program, { ...result, at: hoursAgo(days * 24 - 1) });
    expect(await recallSelfTest(folder.path, program)).toEqual(result);
    await rememberSelfTest(folder.path, program, { ...result, at: hoursAgo(days * 24 + 1) });
    expect(await recallSelfTest(folder.path, program)).toBeUndefined();
  }
});
