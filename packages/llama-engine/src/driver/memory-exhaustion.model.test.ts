import { once } from "node:events";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import {
  inspectMachine,
  memoryLimitForPlan,
  planWorkerLaunch,
  spawnLaunch,
} from "@hearth-and-keep/engine-host";
import { recordFigure } from "@hearth-and-keep/figures";
import { ipcEnvironment, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { superviseWorker } from "./supervise-worker.ts";

const hungry = fileURLToPath(new URL("fixtures/memory-hungry-worker.ts", import.meta.url));
const machine = inspectMachine();
const ignored = { onProgress: () => undefined, onStall: () => undefined };
const megabyte = 1_000_000;
const limitBytes = 300 * megabyte;
/** Node's reservation differs slightly between versions; the worker can use what is left of it. */
const slackBytes = 150 * megabyte;

type Result = { readonly heldBytes: number; readonly end: "crashed" | "killed by the test" };

/** Runs the worker until it crashes, or until it holds more than any limit here allows. */
async function exhaustMemory(memory: { readonly limitBytes: number } | undefined): Promise<Result> {
  const programFolders = [dirname(hungry)];
  const options = {
    nodeProgram: process.execPath,
    workerProgram: hungry,
    modelFiles: [],
    programFolders,
    sandboxEnvironment: ipcEnvironment,
  };
  const launch = planWorkerLaunch(memory === undefined ? options : { ...options, memory }, machine);
  const child = spawnLaunch(launch, ["ignore", "ignore", "ignore", "ipc"], "advanced");
  let heldBytes = 0;
  let end: Result["end"] = "crashed";
  child.on("message", (held) => {
    heldBytes = Number(held);
    if (heldBytes <= limitBytes + 2 * slackBytes) return;
    end = "killed by the test";
    child.kill("SIGKILL");
  });
  child.send("start");
  await once(child, "exit");
  return { heldBytes, end };
}

test("a worker that allocates without end crashes at its limit, and the server survives", async () => {
  expect(machine.prlimit, "prlimit is installed").toBeDefined();
  const { heldBytes, end } = await exhaustMemory({ limitBytes });
  expect(end).toBe("crashed");
  expect(heldBytes).toBeGreaterThan(limitBytes / 2);
  expect(heldBytes).toBeLessThan(limitBytes + slackBytes);
  recordFigure({
    claim: "engine 16",
    text: `a worker that allocates without end crashed with ${Math.round(heldBytes / megabyte)} MB under a limit of ${limitBytes / megabyte} MB`,
    counted: { reached: 1, needed: 1 },
  });
}, 30_000);

test("without the limit, the same worker keeps allocating", async () => {
  expect((await exhaustMemory(undefined)).end).toBe("killed by the test");
}, 30_000);

test("a real model loads and generates under the limit computed for it", async () => {
  const plan: LoadPlan = {
    modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf"),
    contextTokens: 2048,
    sequences: 2,
    threads: 1,
    gpuLayers: 0,
    purpose: "generate",
  };
  expect(await memoryLimitForPlan(plan, 64 * 1024 ** 3)).toBeLessThan(4 * 1024 ** 3);
  const never = new AbortController().signal;
  const worker = await superviseWorker(plan, { ...ignored, signal: never, machine });
  const output = await new Promise((resolve, reject) => {
    let text = "";
    const id = worker.calls.add({
      onEvents: (events) => {
        for (const event of events) if (event.type === "text-delta") text += event.text;
      },
      onResult: () => resolve(text),
      onError: reject,
    });
    const input = { type: "raw", prompt: "The capital of France is" } as const;
    const request = { input, sampling: greedySampling, maxTokens: 4, cachePartition: "one" };
    worker.send({ type: "generate", id, request });
  });
  await worker.stop();
  expect(output).toContain("Paris");
}, 900_000);
