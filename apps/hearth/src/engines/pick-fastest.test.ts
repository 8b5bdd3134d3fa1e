import { expect, test } from "vitest";
import { builtIn } from "./find-engines.ts";
import { pickFastest, type TestedEngine } from "./pick-fastest.ts";

const server = { kind: "llama-server", path: "/usr/bin/llama-server" } as const;
const python = { kind: "xllamacpp", interpreter: "/x/bin/python", version: "1.2" } as const;
const build = { kind: "binding", buildFolder: "/x/binding-3" } as const;

const gpu = { kind: "binding", gpu: "vulkan", buildFolder: "/x/vulkan-3" } as const;

const onDevice = (gpuDevice: string): TestedEngine => ({
  program: gpu,
  result: { works: true, tokensPerSecond: 50, gpuDevice },
});
const at = (program: TestedEngine["program"], tokensPerSecond: number): TestedEngine => ({
  program,
  result: { works: true, tokensPerSecond },
});
const broken = (program: TestedEngine["program"]): TestedEngine => ({
  program,
  result: { works: false, reason: "it crashed" },
});

test.each([
  [
    "the fastest engine",
    [at(builtIn, 100), at(build, 130), at(python, 150)],
    python,
    "1.50 times as fast as the built-in engine",
  ],
  [
    "a compiled build that is fastest",
    [at(builtIn, 100), at(build, 150), at(python, 120)],
    build,
    "1.50 times as fast as the built-in engine",
  ],
  [
    "the built-in engine when it is fastest",
    [at(builtIn, 150), at(python, 120)],
    builtIn,
    "the fastest on this machine",
  ],
  [
    "llama.cpp's own server when both are equally fast",
    [at(builtIn, 100), at(server, 98)],
    server,
    "it supports images",
  ],
  ["a GPU, even if it is slow here", [at(builtIn, 100), onDevice("AMD Radeon")], gpu, "it works on the GPU"],
  [
    "the CPU rather than a software device",
    [at(builtIn, 100), onDevice("llvmpipe (LLVM 15.0.6, 256 bits)")],
    builtIn,
    "the fastest on this machine",
  ],
  [
    "the only engine that works",
    [broken(builtIn), at(python, 10)],
    python,
    "the built-in engine failed its self-test",
  ],
  [
    "the built-in engine next to a broken one",
    [at(builtIn, 1), broken(server)],
    builtIn,
    "llama-server failed",
  ],
  [
    "the built-in engine when nothing works",
    [broken(builtIn), broken(python)],
    builtIn,
    "xllamacpp 1.2 failed",
  ],
])("auto selects %s and gives the reason", (...[, tested, program, reason]) => {
  const picked = pickFastest(tested);
  expect(picked.program).toEqual(program);
  expect(picked.reason).toContain(reason);
});
