import { expect, test } from "vitest";
import { settleSampling, untilContextIsFull } from "./sampling.ts";

const seedOf = (seed: number) => settleSampling({ seed }, {}).sampling.seed;

test("what nobody sets is the server's default", () => {
  const { sampling, mostTokens, stops } = settleSampling({}, {});
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
  expect(mostTokens).toBe(4096);
  expect(stops).toEqual([]);
});

test("the request decides, then the model, then the server, for each parameter by itself", () => {
  const { sampling } = settleSampling({ temperature: 0 }, { temperature: 1, topK: 5 });
  expect(sampling).toMatchObject({ temperature: 0, topK: 5, topP: 0.9 });
});

test("a request's stops are added to the model's own, each once", () => {
  const { stops } = settleSampling({ stops: ["END", "", "<|x|>"] }, { stops: ["<|x|>", "<|y|>"] });
  expect(stops).toEqual(["END", "<|x|>", "<|y|>"]);
});

test("a seed is kept, and one that was not given is random", () => {
  expect(seedOf(42)).toBe(42);
  expect(seedOf(2 ** 32 + 7)).toBe(7);
  const random = new Set(Array.from({ length: 20 }, () => seedOf(-1)));
  expect(random.size).toBeGreaterThan(15);
  for (const seed of random) expect(seed).toBeGreaterThanOrEqual(0);
});

test("less than none means until the context is full", () => {
  expect(settleSampling({ mostTokens: -1 }, {}).mostTokens).toBe(untilContextIsFull);
  expect(settleSampling({ mostTokens: 7 }, {}).mostTokens).toBe(7);
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
  "%s is taken from %d to %d and refused beyond, not a number among them",
  (parameter, least, most) => {
    for (const value of [least, most]) {
      expect(() => settleSampling({ [parameter]: value }, {})).not.toThrow();
    }
    for (const value of [least - 1, most + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => settleSampling({ [parameter]: value }, {})).toThrow(
        expect.objectContaining({ failure: { kind: "parameter-out-of-bounds", parameter, least, most } }),
      );
    }
  },
);

test("a stop that is too long or one of too many is refused", () => {
  expect(() => settleSampling({ stops: ["x".repeat(1024)] }, {})).not.toThrow();
  expect(() => settleSampling({ stops: ["x".repeat(1025)] }, {})).toThrow("parameter-out-of-bounds");
  const many = Array.from({ length: 65 }, (_none, index) => `stop ${index}`);
  expect(() => settleSampling({ stops: many.slice(1) }, {})).not.toThrow();
  expect(() => settleSampling({ stops: many }, {})).toThrow("parameter-out-of-bounds");
});
