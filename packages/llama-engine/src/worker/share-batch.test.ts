import type { BatchItem, Token } from "node-llama-cpp";
import { expect, test } from "vitest";
import { batchPosition, shareBatch } from "./share-batch.ts";

function item(sequenceNumber: number, tokens = 1): BatchItem {
  // The binding brands its token ids; any value will do.
  const list = Array.from({ length: tokens }, () => 1 as Token);
  return { tokens: list, logits: [], ...batchPosition(sequenceNumber) };
}

function strategy(stepTokens = { alone: 512, afterOthers: 512 }) {
  const batchTokens: number[] = [];
  let wereOthers = false;
  const share = shareBatch({
    tokensWhileShared: () => 40,
    tokensOfStep: (isAlone) => {
      wereOthers ||= !isAlone;
      return wereOthers ? stepTokens.afterOthers : stepTokens.alone;
    },
    onShared: (tokens) => batchTokens.push(tokens),
  });
  return {
    batchTokens,
    compose: (...items: readonly BatchItem[]) => share({ items, size: 512 }),
  };
}

test("sequences in a batch are ordered by number, whatever the order of requests", () => {
  const { compose } = strategy();
  const shares = compose(item(2), item(0), item(7), item(1));
  expect(shares.map(({ item: { evaluationPriority } }) => evaluationPriority)).toEqual([0, 1, 2, 7]);
});

test("a stream of the previous batch is waited for and joins once it requests a token", () => {
  const { compose, batchTokens } = strategy();
  expect(compose(item(0), item(1))).toHaveLength(2);
  expect(compose(item(0))).toEqual([]);
  expect(compose(item(0), item(1))).toHaveLength(2);
  expect(batchTokens).toEqual([2, 2]);
});

test("a stream that has ended is waited for only briefly, and only once", () => {
  const { compose } = strategy();
  compose(item(0), item(1));
  let turns = 1;
  while (compose(item(0)).length === 0) turns += 1;
  expect(turns).toBeLessThan(100);
  expect(compose(item(0))).toHaveLength(1);
});

test("a long prompt gets the whole batch if alone, and next to a stream a block whenever it has enough credit", () => {
  const { compose, batchTokens } = strategy();
  compose(item(0, 500));
  for (let batch = 0; batch < 7; batch += 1) compose(item(0, 500), item(1));
  expect(batchTokens).toEqual([500, 1, 66, 1, 66, 66, 1, 66]);
});

test("a large step that others joined ends in small ones after they have left", () => {
  const { compose, batchTokens } = strategy({ alone: 512, afterOthers: 64 });
  compose(item(0, 500));
  for (let batch = 0; batch < 2; batch += 1) compose(item(0, 435), item(1));
  while (compose(item(0, 370)).length === 0);
  for (const rest of [306, 242, 127]) compose(item(0, rest));
  expect(batchTokens).toEqual([500, 1, 66, 64, 64, 64, 127]);
});

test("long prompts next to a stream get blocks in turn, without a stream all at once", () => {
  const { compose } = strategy();
  const served: number[] = [];
  for (let batch = 0; batch < 12; batch += 1) {
    const shares = compose(item(0, 500), item(1, 500), item(2));
    served.push(...shares.map(({ item: { evaluationPriority } }) => evaluationPriority));
  }
  const [first, second] = [0, 1].map((number) => served.filter((each) => each === number).length);
  expect(first).toBeGreaterThan(1);
  expect(Math.abs((first ?? 0) - (second ?? 0))).toBeLessThanOrEqual(1);
  const alone = strategy().compose(item(0, 500), item(1, 500));
  expect(alone.map(({ processAmount }) => processAmount)).toEqual([64, 64]);
});

test("a long prompt skips a batch with another request's first token, but never two in a row", () => {
  const { compose, batchTokens } = strategy();
  for (let batch = 0; batch < 6; batch += 1) compose(item(0, 500), item(1, 20));
  expect(batchTokens).toEqual([20, 104, 20, 104, 20, 104]);
});
