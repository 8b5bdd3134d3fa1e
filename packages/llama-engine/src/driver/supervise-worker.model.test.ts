import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { CrashBreaker, inspectMachine } from "@hearth-and-keep/engine-host";
import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import { descendantsOf, makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";
import { type SupervisedWorker, superviseWorker } from "./supervise-worker.ts";

const never = new AbortController().signal;
const ignored = { onProgress: () => undefined, onStall: () => undefined };
let plan: LoadPlan;

beforeAll(async () => {
  const modelPath = await testModel("tiny-llama.gguf");
  plan = { modelPath, contextTokens: 512, sequences: 1, threads: 1, gpuLayers: 0, purpose: "generate" };
}, 900_000);

function start(): Promise<SupervisedWorker> {
  return superviseWorker(plan, { ...ignored, signal: never });
}

/** The worker itself: the sandbox launchers are its parents. */
function workerPid({ pid }: Pick<SupervisedWorker, "pid">): number {
  return descendantsOf(pid).at(-1) ?? pid;
}

function addPendingCall(worker: SupervisedWorker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.calls.add({ onEvents: () => undefined, onResult: resolve, onError: reject });
  });
}

test.each(["SIGKILL", "SIGSEGV", "SIGABRT"] as const)(
  "a worker killed by %s fails every pending call with that reason within half a second",
  async (signal) => {
    const worker = await start();
    const calls = [1, 2, 3].map(() => addPendingCall(worker).catch((error: unknown) => error));
    const startedAt = performance.now();
    process.kill(workerPid(worker), signal);
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ failure: { kind: "engine-crashed", signal } });
    }
    expect(performance.now() - startedAt).toBeLessThan(hasLooseTimingBounds ? 5000 : 500);
    expect(await worker.exited).toEqual({ kind: "engine-crashed", exitCode: null, signal });
    await expect(addPendingCall(worker)).rejects.toMatchObject({ failure: { kind: "engine-crashed" } });
  },
);

test("a worker killed by the OOM killer fails with insufficient-memory instead of engine-crashed", async () => {
  // An ordinary folder stands in for the cgroup file system.
  await using folder = await makeTemporaryFolder("cgroup");
  const machine = { ...inspectMachine(), cgroup: { version: 2, folder: folder.path } as const };
  const worker = await superviseWorker(plan, { ...ignored, signal: never, machine });
  const [name = ""] = readdirSync(folder.path);
  expect(readFileSync(join(folder.path, name, "cgroup.procs"), "utf8")).toBe(`${worker.pid}\n`);
  writeFileSync(join(folder.path, name, "memory.events"), "oom_kill 1\n");
  process.kill(workerPid(worker), "SIGKILL");
  expect(await worker.exited).toEqual({ kind: "insufficient-memory", neededBytes: null });
});

test("a worker that hangs is detected and killed within fifteen seconds", async () => {
  const worker = await start();
  const call = addPendingCall(worker).catch((error: unknown) => error);
  const startedAt = performance.now();
  const pid = workerPid(worker);
  process.kill(pid, "SIGSTOP");
  expect(await call).toMatchObject({ failure: { kind: "engine-hung" } });
  expect(performance.now() - startedAt).toBeLessThan(hasLooseTimingBounds ? 40_000 : 15_000);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a worker inherits nothing from the server's environment", async () => {
  const worker = await start();
  const names = readFileSync(`/proc/${workerPid(worker)}/environ`, "utf8")
    .split("\0")
    .filter((entry) => entry !== "")
    .map((entry) => entry.split("=")[0]);
  await worker.stop();
  expect(new Set(names)).toEqual(new Set(["HOME", "PWD", "UV_THREADPOOL_SIZE"]));
});

test("three crashes within a minute quarantine a model until the first is a minute old", async () => {
  let now = 0;
  const breaker = new CrashBreaker(() => now);
  const driver = createLlamaDriver({ breaker });
  for (const signal of ["SIGKILL", "SIGKILL", "SIGSEGV"]) {
    breaker.recordFailure(plan.modelPath, { kind: "engine-crashed", exitCode: null, signal });
    now += 1000;
  }
  const load = () => driver.load(plan, { ...ignored, signal: never });
  await expect(load()).rejects.toMatchObject({
    failure: { kind: "model-quarantined", reason: "it exited with SIGSEGV", retryAfterSeconds: 57 },
  });
  await using other = await driver.load(
    { ...plan, modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf") },
    { ...ignored, signal: never },
  );
  expect(other.describe().contextTokens).toBe(512);
  now += 57_001;
  await (await load()).unload();
});
