import type { EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { withProcessorFallback } from "./gpu-fallback.ts";
import type { SupervisedWorker } from "./supervise-worker.ts";

const plan = { modelPath: "/models/m.gguf", contextTokens: 128, sequences: 1, purpose: "generate" } as const;
const loadOptions = { signal: new AbortController().signal, onProgress: () => undefined };
const lost: EngineFailure = { kind: "gpu-failed", reason: "ErrorDeviceLost" };

/** Starts workers that end when the test says so; loads on the GPU fail with `failure` if there is one. */
function createStarts(failure?: EngineFailure) {
  const layers: (number | undefined)[] = [];
  const ends: ((failure: EngineFailure | undefined) => void)[] = [];
  const warnings: string[] = [];
  const losses: string[] = [];
  const clock = { milliseconds: 0 };
  const start = (started: LoadPlan): Promise<SupervisedWorker> => {
    layers.push(started.gpuLayers);
    if (failure !== undefined && started.gpuLayers !== 0) return Promise.reject(new FailureError(failure));
    const { promise: exited, resolve } = Promise.withResolvers<EngineFailure | undefined>();
    ends.push(resolve);
    // Only these two members are used.
    return Promise.resolve({ exited, describe: () => ({}) } as unknown as SupervisedWorker);
  };
  const open = withProcessorFallback(start, {
    onWarning: (message) => void warnings.push(message),
    onGpuLost: (reason) => void losses.push(reason),
    now: () => clock.milliseconds,
  });
  return { open, layers, ends, warnings, losses, clock };
}

test("after the loss of a GPU models start on the CPU for ten minutes, and say why", async () => {
  const { open, layers, ends, warnings, losses, clock } = createStarts();
  await open({ ...plan, gpuLayers: 4 }, loadOptions);
  ends[0]?.(lost);
  await Promise.resolve();
  const fallen = await open({ ...plan, gpuLayers: 4 }, loadOptions);
  expect(fallen.describe().gpuFailure).toBe("ErrorDeviceLost");
  expect(losses).toEqual(["ErrorDeviceLost"]);
  expect(warnings).toEqual(["The GPU was lost (ErrorDeviceLost); models run on the CPU for 10 minutes"]);
  clock.milliseconds = 600_000;
  const again = await open(plan, loadOptions);
  expect(again.describe().gpuFailure).toBeUndefined();
  expect(layers).toEqual([4, 0, undefined]);
});

test("a model that is unloaded, or was on the CPU, says nothing about the GPU", async () => {
  const { open, layers, ends, losses } = createStarts();
  await open(plan, loadOptions);
  await open({ ...plan, gpuLayers: 0 }, loadOptions);
  ends[0]?.(undefined);
  ends[1]?.({ kind: "engine-crashed", exitCode: null, signal: "SIGSEGV" });
  await Promise.resolve();
  await open(plan, loadOptions);
  expect([losses, layers]).toEqual([[], [undefined, 0, undefined]]);
});

test.for([
  [lost, "ErrorDeviceLost"],
  [{ kind: "insufficient-memory", neededBytes: null }, "its memory is too small"],
  [{ kind: "engine-crashed", exitCode: null, signal: "SIGABRT" }, "the engine exited with SIGABRT"],
] as const)("a load that fails on the GPU with %j runs on the CPU", async ([failure, reason]) => {
  const { open, layers, warnings } = createStarts(failure);
  expect((await open(plan, loadOptions)).describe().gpuFailure).toBe(reason);
  await open(plan, loadOptions);
  expect(layers).toEqual([undefined, 0, undefined, 0]);
  expect(warnings[0]).toBe(`The GPU cannot load "m.gguf" (${reason}); it runs on the CPU`);
});

test("a failure that the GPU cannot have caused is not retried on the CPU", async () => {
  const failure: EngineFailure = { kind: "sandbox-unavailable", reason: "root" };
  const { open, layers } = createStarts(failure);
  await expect(open(plan, loadOptions)).rejects.toMatchObject({ failure });
  expect(layers).toEqual([undefined]);
});
