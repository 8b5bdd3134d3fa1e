import { stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineDriver, EngineFailure } from "@hearth-and-keep/engine";
import { createFakeEngine, type FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { makeTemporaryFolder, preparedWorker } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { runSelfTests } from "./self-test.ts";
import { createSelfTestModel } from "./self-test-model.ts";
import { cacheSelfTest, readCachedSelfTest } from "./self-test-results.ts";

const loadSettings = { threads: 1, gpuLayers: 0 };

function crashing(end: { readonly exitCode?: number; readonly signal?: string }): EngineDriver {
  const failure: EngineFailure = { kind: "engine-crashed", exitCode: null, signal: null, ...end };
  return fakeDriver(() => [{ do: "fail", failure }]);
}

const hoursAgo = (hours: number): number => Date.now() - hours * 3_600_000;

function fakeDriver(script: FakeEngineScript): EngineDriver {
  return { load: () => Promise.resolve(createFakeEngine(script)) };
}

test("the built-in engine passes with a 50 MB model that takes no disk space", async () => {
  await using folder = await makeTemporaryFolder("self-test");
  const modelPath = await createSelfTestModel(folder.path);
  const { size, blocks } = await stat(modelPath);
  expect(size).toBeGreaterThan(50_000_000);
  expect(blocks * 512).toBeLessThan(100_000);
  const silent = fakeDriver(() => [{ do: "end", reason: "stop" }]);
  const options = { modelPath, loadSettings, timeoutSeconds: 60 };
  const driver = createLlamaDriver(await preparedWorker());
  const results = await runSelfTests([driver, silent, driver], options);
  expect(results.map(({ works }) => works)).toEqual([true, false, true]);
  expect(results[0]).toEqual({ works: true, tokensPerSecond: expect.any(Number) });
});

test.each([
  ["cannot be started", { load: () => Promise.reject(new Error("spawn ENOENT")) }, "it could not be started"],
  ["exits", crashing({ exitCode: 1 }), "it crashed (exit code 1)"],
  ["lacks a library", crashing({ exitCode: 127 }), "a program or library that it needs is missing"],
  ["crashes", crashing({ signal: "SIGSEGV" }), "it crashed (SIGSEGV)"],
  ["was compiled for other CPUs", crashing({ signal: "SIGILL" }), "an instruction that this CPU does not"],
  [
    "generates too little",
    fakeDriver(() => [{ do: "end", reason: "stop" }]),
    "it generated 0 tokens instead of 4",
  ],
  [
    "does not respond",
    fakeDriver(() => [{ do: "wait", milliseconds: 60_000 }]),
    "it did not finish within 0.2 s",
  ],
  [
    "never finishes loading",
    { load: (_plan, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)) },
    "it did not finish within 0.2 s",
  ],
] as const satisfies readonly (readonly [string, EngineDriver, string])[])(
  "an engine that %s fails with a reason that contains no path",
  async (_what, driver, reason) => {
    const [result] = await runSelfTests([driver], { modelPath: "/x", loadSettings, timeoutSeconds: 0.2 });
    expect(result).toEqual({ works: false, reason: expect.stringContaining(reason) });
    expect(JSON.stringify(result)).not.toMatch(/ENOENT|\//u);
  },
);

test("results are cached per program, and an invalid file counts as empty", async () => {
  await using folder = await makeTemporaryFolder("self-test");
  const path = join(folder.path, "llama-server");
  await writeFile(path, "one");
  const program = { kind: "llama-server", path } as const;
  const result = { works: true, tokensPerSecond: 12.5 } as const;
  await cacheSelfTest(folder.path, program, result);
  expect(await readCachedSelfTest(folder.path, program)).toEqual(result);
  await utimes(path, 1, 1);
  expect(await readCachedSelfTest(folder.path, program)).toBeUndefined();
  await cacheSelfTest(folder.path, program, result);
  await writeFile(join(folder.path, "self-tests.json"), '[{"key":1},{"works":true},null]');
  expect(await readCachedSelfTest(folder.path, program)).toBeUndefined();
  await writeFile(join(folder.path, "self-tests.json"), "{");
  expect(await readCachedSelfTest(folder.path, program)).toBeUndefined();
});

test("a cached failure expires after a day, a success after a month", async () => {
  await using folder = await makeTemporaryFolder("self-test");
  const program = { kind: "binding" } as const;
  for (const [result, days] of [
    [{ works: false, reason: "it crashed" }, 1],
    [{ works: true, tokensPerSecond: 1 }, 30],
  ] as const) {
    await cacheSelfTest(folder.path, program, { ...result, at: hoursAgo(days * 24 - 1) });
    expect(await readCachedSelfTest(folder.path, program)).toEqual(result);
    await cacheSelfTest(folder.path, program, { ...result, at: hoursAgo(days * 24 + 1) });
    expect(await readCachedSelfTest(folder.path, program)).toBeUndefined();
  }
});
