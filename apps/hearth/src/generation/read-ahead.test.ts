import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { type ReadAheadOptions, readAhead } from "./read-ahead.ts";

const options: ReadAheadOptions<number> = { sizeOf: () => 1, maxSize: 10, onStall: () => undefined };

/** Counts up, and records how far it got and whether it ended. */
function createSource(count: number) {
  const state = { written: 0, isEnded: false };
  const source = async function* () {
    try {
      for (; state.written < count; state.written += 1) yield state.written;
    } finally {
      state.isEnded = true;
    }
  };
  return { state, source: source() };
}

test("the consumer gets every item in order", async () => {
  const { source } = createSource(1000);
  expect(await Array.fromAsync(readAhead(source, options))).toEqual(
    Array.from({ length: 1000 }, (_none, index) => index),
  );
});

test("a source that fits into the buffer ends although its consumer has taken one item only", async () => {
  const { source, state } = createSource(8);
  const items = readAhead(source, options);
  expect(await items.next()).toEqual({ done: false, value: 0 });
  await expect.poll(() => state.isEnded).toBe(true);
  expect(await Array.fromAsync(items)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("a source waits while the buffer is full, and goes on when there is room", async () => {
  const { source, state } = createSource(1000);
  const items = readAhead(source, options);
  await items.next();
  await sleep(20);
  expect(state.written).toBeLessThanOrEqual(12);
  expect(await Array.fromAsync(items)).toHaveLength(999);
});

test("an error comes after the items before it", async () => {
  const received: number[] = [];
  const readAll = async (): Promise<void> => {
    for await (const item of readAhead(failAfterTwo(), options)) received.push(item);
  };
  await expect(readAll()).rejects.toThrow("broken");
  expect(received).toEqual([1, 2]);
});

test("leaving the loop ends the source, even if it waits for room", async () => {
  const { source, state } = createSource(1000);
  for await (const item of readAhead(source, options)) {
    await sleep(20);
    if (item === 0) break;
  }
  expect(state).toMatchObject({ isEnded: true });
  expect(state.written).toBeLessThanOrEqual(12);
});

test("a consumer that stops reading can be given up", async () => {
  const { source, state } = createSource(1000);
  let stalls = 0;
  const items = readAhead(source, {
    ...options,
    onStall: () => {
      stalls += 1;
      if (stalls === 2) throw new Error("too slow");
    },
  });
  await items.next();
  await expect.poll(() => state.isEnded, { timeout: 5000 }).toBe(true);
  expect(state.written).toBeLessThanOrEqual(12);
  await expect(Array.fromAsync(items)).rejects.toThrow("too slow");
});

async function* failAfterTwo(): AsyncGenerator<number> {
  yield 1;
  yield 2;
  throw new Error("broken");
}
