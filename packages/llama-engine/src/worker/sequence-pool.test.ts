import type { LlamaContextSequence } from "node-llama-cpp";
import { expect, test } from "vitest";
import { SequencePool } from "./sequence-pool.ts";

const prompt = [5, 6, 7, 8];
const signal = new AbortController().signal;

/** As much of a sequence as the pool uses, with another caller's words in it and a failure on its way. */
function failingSequence() {
  const held = { tokens: [...prompt], failures: 1 };
  const sequence = {
    get contextTokens() {
      return held.tokens;
    },
    get nextTokenIndex() {
      return held.tokens.length;
    },
    clearHistory() {
      if (held.failures-- > 0) return Promise.reject(new Error("not now"));
      held.tokens = [];
      return Promise.resolve();
    },
    eraseContextTokenRanges(ranges: readonly { readonly start: number }[]) {
      held.tokens.length = Math.min(...ranges.map(({ start }) => start));
      return Promise.resolve();
    },
  };
  // The pool uses nothing else of it.
  return { held, sequence: sequence as unknown as LlamaContextSequence };
}

test("a sequence that could not be cleared stays foreign, so nobody is told what is in it", async () => {
  const { held, sequence } = failingSequence();
  const pool = new SequencePool([sequence]);
  await expect(pool.lend({ prompt, partition: "bob", signal })).rejects.toThrow("not now");
  const again = await pool.lend({ prompt, partition: "bob", signal });
  expect(again.cachedTokens).toBe(0);
  held.tokens = [...prompt];
  again[Symbol.dispose]();
  expect((await pool.lend({ prompt, partition: "bob", signal })).cachedTokens).toBe(prompt.length - 1);
});

test("somebody who left already is not kept waiting for a sequence", async () => {
  const { sequence, held } = failingSequence();
  held.failures = 0;
  const pool = new SequencePool([sequence]);
  await pool.lend({ prompt, partition: "alice", signal });
  const left = { prompt, partition: "bob", signal: AbortSignal.abort(new Error("left")) };
  await expect(pool.lend(left)).rejects.toThrow("left");
  expect(pool.waitingRequests).toBe(0);
});
