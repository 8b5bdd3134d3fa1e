import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { chooseCacheType, findContextWindow, growContext, type WindowLimits } from "./context-window.ts";
import { estimateMemoryBytes, type ModelSize } from "./memory-budget.ts";
import { createFixture, release } from "./test/fixture.ts";

const gigabyte = 1e9;

type Shape = {
  readonly name: string;
  readonly trainedTokens: number;
  readonly fileBytes: number;
  readonly layers: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
  readonly vocabularySize: number;
};

/** Shapes of released models with four-bit weights; SmolLM2 is one of the test models. */
const shapes: readonly Shape[] = [
  {
    name: "SmolLM2 135M",
    trainedTokens: 8192,
    fileBytes: 98e6,
    layers: 30,
    keyValueHeads: 3,
    headSize: 64,
    vocabularySize: 49_152,
  },
  {
    name: "1B",
    trainedTokens: 131_072,
    fileBytes: 0.8e9,
    layers: 16,
    keyValueHeads: 8,
    headSize: 64,
    vocabularySize: 128_256,
  },
  {
    name: "3B",
    trainedTokens: 131_072,
    fileBytes: 2.0e9,
    layers: 28,
    keyValueHeads: 8,
    headSize: 128,
    vocabularySize: 128_256,
  },
  {
    name: "8B",
    trainedTokens: 131_072,
    fileBytes: 4.9e9,
    layers: 32,
    keyValueHeads: 8,
    headSize: 128,
    vocabularySize: 128_256,
  },
  {
    name: "14B",
    trainedTokens: 40_960,
    fileBytes: 9.3e9,
    layers: 40,
    keyValueHeads: 8,
    headSize: 128,
    vocabularySize: 151_936,
  },
  {
    name: "32B",
    trainedTokens: 40_960,
    fileBytes: 20e9,
    layers: 64,
    keyValueHeads: 8,
    headSize: 128,
    vocabularySize: 151_936,
  },
  {
    name: "70B",
    trainedTokens: 131_072,
    fileBytes: 42.5e9,
    layers: 80,
    keyValueHeads: 8,
    headSize: 128,
    vocabularySize: 128_256,
  },
];
const machines = [8, 16, 32, 64];

function sizeOf({ fileBytes, layers, keyValueHeads, headSize, vocabularySize }: Shape): ModelSize {
  return { fileBytes, layers, keyValueHeads, headSize, process: { vocabularySize, scoreBuffers: 1 } };
}

function windowOf(shape: Shape, limits: Partial<WindowLimits> & { readonly asked?: number } = {}) {
  const { asked, ...others } = limits;
  const request = {
    purpose: "generate",
    trainedContextTokens: shape.trainedTokens,
    size: sizeOf(shape),
    ...(asked === undefined ? {} : { contextTokens: asked }),
  } as const;
  const memory = { memoryBudgetBytes: 1000 * gigabyte, contextTokens: undefined, cacheType: undefined };
  return findContextWindow(request, { ...memory, ...others });
}

test("the window is the largest that model and memory allow, at least 32k where both have it", () => {
  const rows = shapes.map((shape) => {
    const windows = machines.map((gigabytes) => {
      const memoryBudgetBytes = Math.floor(0.8 * gigabytes * gigabyte);
      const { tokens } = windowOf(shape, { memoryBudgetBytes });
      const size = sizeOf(shape);
      const limits = { memoryBudgetBytes, contextTokens: undefined, cacheType: undefined };
      const request = { size, trainedContextTokens: shape.trainedTokens, purpose: "generate" } as const;
      const cacheType = chooseCacheType(request, limits);
      const bytesAt = (contextTokens: number): number =>
        estimateMemoryBytes({ size, cacheType }, { contextTokens, sequences: 1 });
      if (bytesAt(2048) > memoryBudgetBytes) return "does not fit";
      expect(bytesAt(tokens)).toBeLessThanOrEqual(memoryBudgetBytes);
      const wanted = Math.min(32_768, shape.trainedTokens);
      expect(tokens >= wanted || bytesAt(wanted) > memoryBudgetBytes).toBe(true);
      // No larger one fits.
      expect(tokens === shape.trainedTokens || bytesAt(tokens + 1024) > memoryBudgetBytes).toBe(true);
      return `${tokens}${cacheType === undefined ? "" : ` with a ${cacheType} cache`}`;
    });
    return `${shape.name} (trained on ${shape.trainedTokens}): ${windows.join(", ")}`;
  });
  recordFigure({
    claim: "agents 4",
    text: `windows on machines of ${machines.join(", ")} GB: ${rows.join("; ")}`,
    counted: { reached: rows.length * machines.length, needed: 28 },
  });
});

const [, , , large] = shapes;

test.each([
  ["model", {}, 131_072],
  ["request", { asked: 4096 }, 4096],
  ["setting", { contextTokens: 20_000 }, 20_000],
  ["memory", { memoryBudgetBytes: 8 * gigabyte }, 35_840],
  ["request", { asked: 50_000, contextTokens: 20_000 }, 50_000],
] as const)("a window limited by the %s says so", (limitedBy, limits, tokens) => {
  if (large === undefined) throw new Error("There is no 8B shape");
  expect(windowOf(large, limits)).toEqual({ tokens, limitedBy });
});

test("a context grows by doubling, up to the window", () => {
  const window = { tokens: 100_000, limitedBy: "memory" } as const;
  expect([1, 8192, 8193, 40_000, 70_000].map((needed) => growContext(needed, window))).toEqual([
    8192, 8192, 16_384, 65_536, 100_000,
  ]);
  expect(growContext(5, { ...window, tokens: 512 })).toBe(512);
});

/** Models that take a thousand bytes, and one byte per token of context and sequence. */
const longModel = {
  trainedContextTokens: 100_000,
  size: { fileBytes: 1000, layers: 1, keyValueHeads: 1, headSize: 0.25 },
};

test("without a limit, little is loaded at first, and a request that needs more gets it", async () => {
  const fixture = createFixture({ contextTokens: undefined });
  const first = await fixture.acquire("a", longModel);
  expect([first.contextTokens, first.window.tokens]).toEqual([8192, 100_000]);
  release(first);
  const second = await fixture.acquire("a", { ...longModel, neededTokens: 20_000 });
  expect([second.contextTokens, second.window.tokens]).toEqual([32_768, 100_000]);
  expect(fixture.loads).toHaveLength(2);
});

test("the window of a request does not depend on what an earlier one set", async () => {
  const windows: number[] = [];
  for (const contextTokens of [4096, 50_000, 512]) {
    const fixture = createFixture({ contextTokens: undefined });
    release(await fixture.acquire("a", { ...longModel, contextTokens }));
    const lease = await fixture.acquire("a", longModel);
    windows.push(lease.window.tokens);
  }
  expect(windows).toEqual([100_000, 100_000, 100_000]);
});

test("a context that a client sets is rejected if there can never be enough memory; a model's own is reduced", async () => {
  const fixture = createFixture({ contextTokens: undefined, memoryBudgetBytes: 40_000 });
  const own = { ...longModel, contextTokens: 90_000 };
  expect((await fixture.acquire("a", own)).window).toEqual({ tokens: 38_912, limitedBy: "memory" });
  const demanded = fixture.acquire("a", { ...own, isContextDemanded: true });
  await expect(demanded).rejects.toMatchObject({
    failure: { kind: "insufficient-memory", neededBytes: 91_000 },
  });
});

test("a smaller context takes less memory", async () => {
  const fixture = createFixture({ contextTokens: undefined });
  await fixture.acquire("a", { ...longModel, contextTokens: 1024 });
  await fixture.acquire("b", longModel);
  expect(fixture.scheduler.running().map(({ memoryBytes }) => memoryBytes)).toEqual([3048, 17_384]);
});

test("a large context has fewer sequences, so that it does not take all memory", async () => {
  const fixture = createFixture({ contextTokens: undefined, sequences: 8, memoryBudgetBytes: 10_000_000 });
  for (const [key, neededTokens] of Object.entries({ a: 8192, b: 16_384, c: 30_000, d: 90_000 })) {
    await fixture.acquire(key, { ...longModel, neededTokens });
  }
  expect(fixture.scheduler.running().map(({ sequences }) => sequences)).toEqual([8, 8, 4, 2]);
});
