import { createHash, randomBytes } from "node:crypto";
import { appendFile, open, readdir, readFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { digestOf } from "../store/digest.ts";
import { createTestStore } from "../test/stores.ts";
import { blockBytes, openPartialFile } from "./partial-file.ts";

const content = randomBytes(3 * blockBytes + 1000);
const blob = { digest: digestOf(content), size: content.length };

function blockOf(block: number): readonly Buffer[] {
  const bytes = content.subarray(block * blockBytes, (block + 1) * blockBytes);
  return [bytes.subarray(0, 100), bytes.subarray(100)];
}

async function createHalfDone() {
  const testStore = await createTestStore();
  await using file = await openPartialFile(testStore.store, blob);
  for (const block of [2, 0]) await file.write(block, blockOf(block));
  return { ...testStore, path: file.path };
}

test("blocks can be written in any order, and the digest is that of the content", async () => {
  await using testStore = await createTestStore();
  await using file = await openPartialFile(testStore.store, blob);
  for (const block of [3, 1, 0, 2]) await file.write(block, blockOf(block));
  expect(file.completedBytes).toBe(blob.size);
  expect(await file.finish()).toBe(blob.digest);
});

test("blocks written earlier are still there after reopening the file", async () => {
  await using testStore = await createHalfDone();
  await using file = await openPartialFile(testStore.store, blob);
  expect([0, 1, 2, 3].map((block) => file.has(block))).toEqual([true, false, true, false]);
  expect(file.completedBytes).toBe(2 * blockBytes);
  for (const block of [1, 3]) await file.write(block, blockOf(block));
  expect(await file.finish()).toBe(blob.digest);
});

test("only a block that was damaged on disk counts as missing", async () => {
  await using testStore = await createHalfDone();
  await using damaged = await open(testStore.path, "r+");
  await damaged.write(Buffer.from([(content[2 * blockBytes + 5] ?? 0) ^ 1]), 0, 1, 2 * blockBytes + 5);
  await using file = await openPartialFile(testStore.store, blob);
  for (const block of [1, 3]) await file.write(block, blockOf(block));
  expect(await file.finish()).toBeUndefined();
  expect([0, 1, 2, 3].filter((block) => !file.has(block))).toEqual([2]);
  await file.write(2, blockOf(2));
  expect(await file.finish()).toBe(blob.digest);
});

test.for([
  ["a torn last line", (path: string) => appendFile(`${path}.journal`, '{"block":1,"crc'), 2],
  ["invalid lines", (path: string) => appendFile(`${path}.journal`, 'x\n{}\n{"block":-1}\n[]\n'), 2],
  ["an empty journal", (path: string) => truncate(`${path}.journal`, 0), 0],
  ["content of another size", (path: string) => truncate(path, 5), 0],
] as const)("a download resumes after %s", async ([, damage, keptBlocks]) => {
  await using testStore = await createHalfDone();
  await damage(testStore.path);
  await using file = await openPartialFile(testStore.store, blob);
  expect(file.completedBytes).toBe(keptBlocks * blockBytes);
  for (const block of [0, 1, 2, 3]) if (!file.has(block)) await file.write(block, blockOf(block));
  expect(await file.finish()).toBe(blob.digest);
});

test("a journal for another size of the same digest is discarded", async () => {
  await using testStore = await createHalfDone();
  await using file = await openPartialFile(testStore.store, { ...blob, size: blob.size + 1 });
  expect(file.completedBytes).toBe(0);
});

test("the file only takes the disk space of its blocks, and removing it leaves nothing", async () => {
  await using testStore = await createHalfDone();
  const { size, blocks } = await stat(testStore.path);
  expect(size).toBe(blob.size);
  expect(blocks * 512).toBeLessThan(blob.size);
  await using file = await openPartialFile(testStore.store, blob);
  await file.remove();
  expect(await readdir(join(testStore.path, ".."))).toEqual([]);
});

test("an empty blob can be downloaded", async () => {
  await using testStore = await createTestStore();
  await using file = await openPartialFile(testStore.store, { digest: digestOf(""), size: 0 });
  expect(await file.finish()).toBe(digestOf(""));
  expect(
    createHash("sha256")
      .update(await readFile(file.path))
      .digest("hex"),
  ).toBe(digestOf("").slice(7));
});
