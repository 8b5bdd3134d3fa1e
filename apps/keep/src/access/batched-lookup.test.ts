import { expect, test } from "vitest";
import { createBatchedLookup } from "./batched-lookup.ts";

test("a thousand lookups take two queries, one after the other, and each gets its own answer", async () => {
  const batches: number[] = [];
  let running = 0;
  const lookup = createBatchedLookup(async (hashes) => {
    running += 1;
    expect(running).toBe(1);
    batches.push(hashes.length);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
    return hashes.filter((hash) => hash.toString() === "stored");
  });
  const first = lookup(Buffer.from("stored"));
  await new Promise((resolve) => setTimeout(resolve, 1));
  const others = Array.from({ length: 999 }, (_, index) => lookup(Buffer.from(`unknown ${index}`)));
  expect(await Promise.all([first, ...others, lookup(Buffer.from("stored"))])).toEqual([
    true,
    ...others.map(() => false),
    true,
  ]);
  expect(batches).toEqual([1, 1000]);
});

test("a failed query fails its own callers only", async () => {
  let queries = 0;
  const lookup = createBatchedLookup(async (hashes) => {
    queries += 1;
    if (queries === 1) throw new Error("database is down");
    return hashes;
  });
  await expect(lookup(Buffer.from("a"))).rejects.toThrow("database is down");
  expect(await lookup(Buffer.from("a"))).toBe(true);
});
