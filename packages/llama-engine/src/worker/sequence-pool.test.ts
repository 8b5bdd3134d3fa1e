import type { LlamaContextSequence } from "node-llama-cpp";
import { expect, test } from "vitest";
import { SequencePool } from "./sequence-pool.ts";

const prompt = [5, 6, 7, 8];
const signal = new AbortController().signal;

/** The part of a sequence that the pool uses, with another client's tokens in it, whose first clear fails. */
function createFailingSequence() {
  const state = { tokens: [...prompt], failures: 1 };
  const sequence = {
    get contextTokens() {
      return state.tokens;
    },
    get nextTokenIndex() {
      return state.tokens.length;
    },
    clearHistory() {
      if (state.failures-- > 0) return Promise.reject(new Error("not now"));
      state.tokens = [];
      return Promise.resolve();
    },
    eraseContextTokenRanges(ranges: readonly { readonly start: number }[]) {
      state.tokens.length = Math.min(...ranges.map(({ start }) => start));
      return Promise.resolve();
    },
  };
  // The pool uses nothing else.
  return { state, sequence: sequence as unknown as LlamaContextSequence };
}

test("a sequence that could not be cleared is not reused, so no client can detect what is in it", async () => {
  const { state, sequence } = createFailingSequence();
  const pool = new SequencePool([sequence]);
  await expect(pool.acquire({ prompt, partition: "bob", signal })).rejects.toThrow("not now");
  const again = await pool.acquire({ prompt, partition: "bob", signal });
  expect(again.cachedTokens).toBe(0);
  state.tokens = [...prompt];
  again[Symbol.dispose]();
  expect((await pool.acquire({ prompt, partition: "bob", signal })).cachedTokens).toBe(prompt.length - 1);
});

test("an aborted request is not queued for a sequence", async () => {
  const { sequence, state } = createFailingSequence();
  state.failures = 0;
  const pool = new SequencePool([sequence]);
  await pool.acquire({ prompt, partition: "alice", signal });
  const aborted = { prompt, partition: "bob", signal: AbortSignal.abort(new Error("gone")) };
  await expect(pool.acquire(aborted)).rejects.toThrow("gone");
  expect(pool.waitingRequests).toBe(0);
});
