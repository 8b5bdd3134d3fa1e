import { type EngineProgram, nameProgram } from "./engine-programs.ts";
import { builtIn } from "./find-engines.ts";
import type { SelfTest } from "./self-test.ts";

export type TestedEngine = { readonly program: EngineProgram; readonly result: SelfTest };

export type PickedEngine = { readonly program: EngineProgram; readonly reason: string };

/** Closer than this, two speeds are one; llama.cpp's own server is then taken, because it can do more. */
const noise = 1.05;

/** The fastest engine that works. The built-in one is taken when nothing else does, whatever its own test says. */
export function pickFastest(tested: readonly TestedEngine[]): PickedEngine {
  const [best] = tested
    .filter(({ result }) => result.works)
    .toSorted((one, other) => rankOf(other) - rankOf(one));
  const usual = tested.find(({ program }) => isBuiltIn(program));
  if (best === undefined || isBuiltIn(best.program)) {
    const broken = tested.find(({ program, result }) => !isBuiltIn(program) && !result.works);
    if (broken === undefined) return { program: builtIn, reason: "the fastest one here" };
    return { program: builtIn, reason: `${nameProgram(broken.program)} failed its self-test` };
  }
  return { program: best.program, reason: compare(speedOf(best), speedOf(usual)) };
}

function compare(speed: number, usualSpeed: number): string {
  if (usualSpeed === 0) return "the built-in one failed its self-test";
  const times = speed / usualSpeed;
  return times < noise
    ? "as fast here as the built-in one, and it can do more"
    : `${times.toFixed(times < 1.95 ? 2 : 1)} times as fast here as the built-in one`;
}

function isBuiltIn(program: EngineProgram): boolean {
  return program.kind === "binding" && program.buildFolder === undefined;
}

function rankOf(tested: TestedEngine): number {
  return speedOf(tested) * (tested.program.kind === "binding" ? 1 : noise);
}

function speedOf(tested: TestedEngine | undefined): number {
  return tested?.result.works === true ? tested.result.tokensPerSecond : 0;
}
