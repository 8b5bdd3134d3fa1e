import type { Token } from "node-llama-cpp";
import { expect, test } from "vitest";
import { BatchCosts, SpeculationBudget } from "./speculation-budget.ts";

type Text = {
  /** How many guessed tokens are right, at the given token of the output. */
  readonly accepted: (outputTokens: number, proposed: number) => number;
  readonly matchedTokens: number;
};
type Machine = {
  /** What a batch costs with so many guessed tokens, relative to one without. */
  readonly cost: (guessed: number) => number;
};

// The binding brands its token ids; any value will do.
const tokens = Array.from({ length: 31 }, () => 1 as Token);

/** The speed with guesses, relative to the speed without. */
function simulate(
  { accepted, matchedTokens }: Text,
  { cost }: Machine,
  outputTokens = 400,
): { readonly speed: number; readonly proposed: number } {
  const budget = new SpeculationBudget(new BatchCosts());
  let [produced, time] = [0, 0];
  while (produced < outputTokens) {
    const proposed = budget.chooseLength({ tokens, matchedTokens });
    const right = Math.min(proposed, accepted(produced, proposed));
    const milliseconds = 10 * cost(proposed);
    if (proposed > 0) budget.recordVerified({ proposed, accepted: right, matchedTokens }, milliseconds);
    else {
      budget.recordSingle(milliseconds);
      budget.recordUnverified({ tokens, matchedTokens }, accepted(produced, 1) > 0);
    }
    produced += 1 + right;
    time += cost(proposed);
  }
  return { speed: produced / time, proposed: budget.proposedTokens };
}

const cheapBatches: Machine = { cost: (guessed) => 1 + 0.1 * guessed };
const dearBatches: Machine = { cost: (guessed) => 1 + 0.9 * guessed };

test("a text that repeats its prompt is written several times faster where batches are cheap", () => {
  const { speed } = simulate({ accepted: (_at, proposed) => proposed, matchedTokens: 12 }, cheapBatches);
  expect(speed).toBeGreaterThan(3);
});

test.each([cheapBatches, dearBatches])("wrong guesses cost at most three percent", (machine) => {
  for (const matchedTokens of [2, 5, 16])
    for (const outputTokens of [50, 400, 4000]) {
      const { speed } = simulate({ accepted: () => 0, matchedTokens }, machine, outputTokens);
      expect(speed).toBeGreaterThan(0.97);
    }
});

test("where every token of a batch costs as much as one of its own, nothing is guessed for long", () => {
  const machine: Machine = { cost: (guessed) => 1 + guessed };
  const { speed, proposed } = simulate({ accepted: (_at, count) => count, matchedTokens: 16 }, machine);
  expect(speed).toBeGreaterThan(0.97);
  expect(proposed).toBeLessThan(60);
});

test("a text that begins to repeat after a thousand tokens is noticed", () => {
  const late = { accepted: (at: number, count: number) => (at < 1000 ? 0 : count), matchedTokens: 12 };
  expect(simulate(late, cheapBatches, 2000).speed).toBeGreaterThan(1.4);
});

test("a text that stops repeating loses little of what it gained", () => {
  const early = { accepted: (at: number, count: number) => (at < 100 ? count : 0), matchedTokens: 12 };
  expect(simulate(early, cheapBatches, 2000).speed).toBeGreaterThan(0.985);
});

test("the first token of a model is never a guess: the cost of a batch is unknown", () => {
  expect(new SpeculationBudget(new BatchCosts()).chooseLength({ tokens, matchedTokens: 16 })).toBe(0);
});

test("a cost that was not measured is between those of its neighbours", () => {
  const costs = new BatchCosts();
  costs.record(0, 10);
  costs.record(4, 20);
  costs.record(8, 30);
  expect(costs.relative(6)).toBeCloseTo(2.5);
  expect(costs.relative(2)).toBeCloseTo(1.5);
  expect(costs.relative(12)).toBeCloseTo(3.8);
});

test("a batch that waited for a core does not end speculation", () => {
  const costs = new BatchCosts();
  costs.record(0, 10);
  costs.record(4, 15);
  costs.record(4, 5000);
  expect(costs.relative(4)).toBeCloseTo(1.5);
});

test("a cost that was measured long ago is measured again", () => {
  const costs = new BatchCosts();
  costs.record(0, 10);
  costs.record(4, 5000);
  expect(costs.relative(4)).toBeCloseTo(500);
  for (let batch = 0; batch < 200; batch += 1) costs.record(0, 10);
  expect(costs.relative(4)).toBeLessThan(3);
});
