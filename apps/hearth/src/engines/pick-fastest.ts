import { type EngineProgram, formatProgram } from "./engine-programs.ts";
import { builtIn } from "./find-engines.ts";
import type { SelfTestResult } from "./self-test.ts";

export type TestedEngine = { readonly program: EngineProgram; readonly result: SelfTestResult };

export type PickedEngine = { readonly program: EngineProgram; readonly reason: string };

/** Within this factor two speeds count as equal, and llama.cpp's own server is preferred because it supports images. */
const noiseFactor = 1.05;

/** Devices that compute on the CPU. */
const softwareDevice = /llvmpipe|lavapipe|swiftshader/iu;

/**
 * A working GPU comes first, because the test model is too small to show its speed. Otherwise the fastest working
 * engine; the built-in engine when no other works, even if it failed its own test.
 */
export function pickFastest(tested: readonly TestedEngine[]): PickedEngine {
  const onGpu = tested.find(({ result }) => result.works && isGpu(result.gpuDevice));
  if (onGpu !== undefined) return { program: onGpu.program, reason: "it works on the GPU" };
  const [best] = tested
    .filter(({ result }) => result.works)
    .toSorted((one, other) => rankOf(other) - rankOf(one));
  const builtInTest = tested.find(({ program }) => isBuiltIn(program));
  if (best === undefined || isBuiltIn(best.program)) {
    const broken = tested.find(({ program, result }) => !isBuiltIn(program) && !result.works);
    if (broken === undefined) return { program: builtIn, reason: "the fastest on this machine" };
    return { program: builtIn, reason: `${formatProgram(broken.program)} failed its self-test` };
  }
  return { program: best.program, reason: compare(best, speedOf(builtInTest)) };
}

function compare(best: TestedEngine, builtInSpeed: number): string {
  if (builtInSpeed === 0) return "the built-in engine failed its self-test";
  const factor = speedOf(best) / builtInSpeed;
  return factor < noiseFactor && best.program.kind !== "binding"
    ? "as fast as the built-in engine, and it supports images"
    : `${factor.toFixed(factor < 1.95 ? 2 : 1)} times as fast as the built-in engine`;
}

function isGpu(device: string | undefined): boolean {
  return device !== undefined && !softwareDevice.test(device);
}

function isBuiltIn(program: EngineProgram): boolean {
  return program.kind === "binding" && program.buildFolder === undefined;
}

function rankOf(tested: TestedEngine): number {
  return speedOf(tested) * (tested.program.kind === "binding" ? 1 : noiseFactor);
}

function speedOf(tested: TestedEngine | undefined): number {
  return tested?.result.works === true ? tested.result.tokensPerSecond : 0;
}
