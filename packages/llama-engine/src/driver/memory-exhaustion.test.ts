import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { limitOfPlan, lookAtMachine, planWorkerLaunch } from "@hearth-and-keep/engine-host";
import { recordFigure } from "@hearth-and-keep/figures";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { superviseWorker } from "./supervise-worker.ts";

const hungry = fileURLToPath(new URL("fixtures/hungry-worker.ts", import.meta.url));
const machine = lookAtMachine();
const megabyte = 1_000_000;
const limitBytes = 300 * megabyte;
/** Node's reservation is not the same to the byte in every version; what it leaves over can be eaten too. */
const slackBytes = 150 * megabyte;

type Meal = { readonly heldBytes: number; readonly ended: "by itself" | "by us" };

/** Lets it eat until it ends, or until it holds more than any limit here allows. */
async function letItEat(memory: { readonly limitBytes: number } | undefined): Promise<Meal> {
  const programFolders = [dirname(hungry)];
  const wish = { nodeProgram: process.execPath, workerProgram: hungry, modelFiles: [], programFolders };
  const launch = planWorkerLaunch(memory === undefined ? wish : { ...wish, memory }, machine);
  const child = spawn(launch.command, [...launch.words], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
    env: launch.environment,
  });
  let heldBytes = 0;
  let ended: Meal["ended"] = "by itself";
  child.on("message", (held) => {
    heldBytes = Number(held);
    if (heldBytes <= limitBytes + 2 * slackBytes) return;
    ended = "by us";
    child.kill("SIGKILL");
  });
  child.send("begin");
  await once(child, "exit");
  return { heldBytes, ended };
}

test("a worker that takes memory without end dies of it at its limit, and the server lives", async () => {
  expect(machine.prlimit, "prlimit is installed").toBeDefined();
  const { heldBytes, ended } = await letItEat({ limitBytes });
  expect(ended).toBe("by itself");
  expect(heldBytes).toBeGreaterThan(limitBytes / 2);
  expect(heldBytes).toBeLessThan(limitBytes + slackBytes);
  recordFigure({
    claim: "engine 16",
    text: `a worker that eats memory died holding ${Math.round(heldBytes / megabyte)} MB under a limit of ${limitBytes / megabyte} MB`,
    counted: { reached: 1, needed: 1 },
  });
}, 30_000);

test("without the limit the same worker eats on, so it was the limit that stopped it", async () => {
  expect((await letItEat(undefined)).ended).toBe("by us");
}, 30_000);

test("a real model loads and answers under the limit computed for it", async () => {
  const plan: LoadPlan = {
    modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf"),
    contextTokens: 2048,
    sequences: 2,
    threads: 1,
    gpuLayers: 0,
    purpose: "generate",
  };
  expect(await limitOfPlan(plan, 64 * 1024 ** 3)).toBeLessThan(4 * 1024 ** 3);
  const never = new AbortController().signal;
  const worker = await superviseWorker(plan, { signal: never, onProgress: () => undefined, machine });
  const words = await new Promise((onAnswer, onProblem) => {
    let text = "";
    const id = worker.ledger.open({
      onEvents: (events) => {
        for (const event of events) if (event.type === "text-delta") text += event.text;
      },
      onAnswer: () => onAnswer(text),
      onProblem,
    });
    const input = { type: "raw", prompt: "The capital of France is" } as const;
    const request = { input, sampling: greedySampling, mostTokens: 4, cachePartition: "one" };
    worker.send({ type: "generate", id, request });
  });
  await worker.stop();
  expect(words).toContain("Paris");
}, 900_000);
