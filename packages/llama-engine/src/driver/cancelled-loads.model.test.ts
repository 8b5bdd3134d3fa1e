import { chmod, copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  makeTemporaryFolder,
  preparedWorker,
  readProcessFile,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

/** Every process, whoever its parent is, that was started for a file of the folder. */
async function processesFor(folder: string): Promise<readonly string[]> {
  const names = await readdir("/proc");
  return names.filter(
    (name) => /^\d+$/u.test(name) && readProcessFile(Number(name), "cmdline").includes(folder),
  );
}

test("a load that is cancelled while the sandbox starts leaves no process behind", async () => {
  await using folder = await makeTemporaryFolder("cancelled");
  await chmod(folder.path, 0o755);
  const modelPath = join(folder.path, "model.gguf");
  await copyFile(await testModel("tiny-llama.gguf"), modelPath);
  const driver = createLlamaDriver(await preparedWorker());
  const plan = { modelPath, contextTokens: 128, sequences: 1, threads: 1, gpuLayers: 0 } as const;
  let cancelled = 0;
  for (let milliseconds = 1; milliseconds <= 60; milliseconds += 1) {
    const abort = new AbortController();
    const loading = driver.load(
      { ...plan, purpose: "generate" },
      { signal: abort.signal, onProgress: () => undefined },
    );
    const outcome = loading.then(
      (engine) => engine.unload(),
      () => (cancelled += 1),
    );
    await sleep(milliseconds);
    abort.abort(new Error("cancelled"));
    await outcome;
  }
  await expect.poll(() => processesFor(folder.path), { timeout: 5000 }).toEqual([]);
  expect(cancelled).toBeGreaterThan(30);
}, 120_000);
