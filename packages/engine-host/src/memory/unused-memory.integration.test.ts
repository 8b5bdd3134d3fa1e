import { expect, test } from "vitest";
import { observeAllocations } from "./unused-memory.ts";

const mebibyte = 1024 ** 2;
const always = (): boolean => true;

/** Writing occupies the memory, as llama.cpp does when it clears a cache. */
function allocateCleared(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(bytes).fill(0);
}

test("memory that was cleared and never used is given back, and what was written stays", async () => {
  const find = observeAllocations();
  const cleared = allocateCleared(512 * mebibyte);
  // Far apart, at both ends, and one byte in the middle of nothing.
  const written = [0, 100 * mebibyte + 7, 256 * mebibyte, 300 * mebibyte - 1, cleared.length - 1];
  for (const position of written) cleared[position] = 255;
  const unused = find();
  const before = process.memoryUsage.rss();
  await unused.release(always);
  expect(before - process.memoryUsage.rss()).toBeGreaterThan(450 * mebibyte);
  expect(written.map((position) => cleared[position])).toEqual(written.map(() => 255));
  for (const position of written) cleared[position] = 0;
  expect(cleared.equals(Buffer.alloc(cleared.length))).toBe(true);
});

test("memory is not touched while it may be written, and the rest is given back later", async () => {
  const find = observeAllocations();
  const cleared = allocateCleared(256 * mebibyte);
  const unused = find();
  const before = process.memoryUsage.rss();
  await unused.release(() => false);
  expect(before - process.memoryUsage.rss()).toBeLessThan(50 * mebibyte);
  let turns = 0;
  await unused.release(() => (turns += 1) <= 4);
  const afterSome = process.memoryUsage.rss();
  expect(before - afterSome).toBeGreaterThan(50 * mebibyte);
  expect(before - afterSome).toBeLessThan(200 * mebibyte);
  await unused.release(always);
  expect(before - process.memoryUsage.rss()).toBeGreaterThan(200 * mebibyte);
  expect(cleared.length).toBe(256 * mebibyte);
});

test("memory that was allocated before, or in small pieces, stays as it is", async () => {
  const earlier = allocateCleared(256 * mebibyte);
  const find = observeAllocations();
  const pieces = Array.from({ length: 8 }, () => allocateCleared(4 * mebibyte));
  const unused = find();
  const before = process.memoryUsage.rss();
  await unused.release(always);
  expect(before - process.memoryUsage.rss()).toBeLessThan(50 * mebibyte);
  expect([earlier, ...pieces].every((buffer) => buffer[0] === 0)).toBe(true);
});
