import { expect, test } from "vitest";
import { resolveSampling, untilContextIsFull } from "./sampling.ts";

const seedOf = (seed: number) => resolveSampling({ seed }, {}).sampling.seed;

test("options that are not set have the server's defaults", () => {
  const { sampling, maxTokens, stops } = resolveSampling({}, {});
  expect(sampling).toMatchObject({
    temperature: 0.7,
    topP: 0.9,
    topK: 40,
    minP: 0,
    typicalP: 1,
    repeatPenalty: 1.1,
    repeatLastTokens: 64,
    frequencyPenalty: 0,
    presencePenalty: 0,
  });
  expect(maxTokens).toBe(4096);
  expect(stops).toEqual([]);
});

test("each option comes from the request, then the model, then the server", () => {
  const { sampling } = resolveSampling({ temperature: 0 }, { temperature: 1, topK: 5 });
  expect(sampling).toMatchObject({ temperature: 0, topK: 5, topP: 0.9 });
});

test("a request's stops are added to the model's, without duplicates", () => {
  const { stops } = resolveSampling({ stops: ["END", "", "<|x|>"] }, { stops: ["<|x|>", "<|y|>"] });
  expect(stops).toEqual(["END", "<|x|>", "<|y|>"]);
});

test("a given seed is kept, a missing one is random", () => {
  expect(seedOf(42)).toBe(42);
  expect(seedOf(2 ** 32 + 7)).toBe(7);
  const random = new Set(Array.from({ length: 20 }, () => seedOf(-1)));
  expect(random.size).toBeGreaterThan(15);
  for (const seed of random) expect(seed).toBeGreaterThanOrEqual(0);
});

test("a negative limit means until the context is full", () => {
  expect(resolveSampling({ maxTokens: -1 }, {}).maxTokens).toBe(untilContextIsFull);
  expect(resolveSampling({ maxTokens: 7 }, {}).maxTokens).toBe(7);
});

test.each([
  ["temperature", 0, 100],
  ["topP", 0, 1],
  ["minP", 0, 1],
  ["typicalP", 0, 1],
  ["topK", -1, 1_000_000],
  ["repeatPenalty", 0, 10],
  ["frequencyPenalty", -10, 10],
  ["presencePenalty", -10, 10],
] as const)(
  "%s is accepted from %d to %d, and rejected outside that range and for NaN",
  (parameter, min, max) => {
    for (const value of [min, max]) {
      expect(() => resolveSampling({ [parameter]: value }, {})).not.toThrow();
    }
    for (const value of [min - 1, max + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => resolveSampling({ [parameter]: value }, {})).toThrow(
        expect.objectContaining({ failure: { kind: "parameter-out-of-range", parameter, min, max } }),
      );
    }
  },
);

test("stops that are too long or too many are rejected", () => {
  expect(() => resolveSampling({ stops: ["x".repeat(1024)] }, {})).not.toThrow();
  expect(() => resolveSampling({ stops: ["x".repeat(1025)] }, {})).toThrow("parameter-out-of-range");
  const many = Array.from({ length: 65 }, (_none, index) => `stop ${index}`);
  expect(() => resolveSampling({ stops: many.slice(1) }, {})).not.toThrow();
  expect(() => resolveSampling({ stops: many }, {})).toThrow("parameter-out-of-range");
});
