import { createHash, randomBytes } from "node:crypto";
import { appendFile, open, readdir, readFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { digestOf } from "../store/digest.ts";
import { makeStore } from "../test/stores.ts";
import { openPartialFile, pieceBytes } from "./partial-file.ts";

const content = randomBytes(3 * pieceBytes + 1000);
const blob = { digest: digestOf(content), size: content.length };

function pieceOf(piece: number): readonly Buffer[] {
  const bytes = content.subarray(piece * pieceBytes, (piece + 1) * pieceBytes);
  return [bytes.subarray(0, 100), bytes.subarray(100)];
}

async function makeHalfDone() {
  const made = await makeStore();
  await using file = await openPartialFile(made.store, blob);
  for (const piece of [2, 0]) await file.write(piece, pieceOf(piece));
  return { ...made, path: file.path };
}

test("pieces in any order make the whole, and its digest is that of the content", async () => {
  await using made = await makeStore();
  await using file = await openPartialFile(made.store, blob);
  for (const piece of [3, 1, 0, 2]) await file.write(piece, pieceOf(piece));
  expect(file.completedBytes).toBe(blob.size);
  expect(await file.finish()).toBe(blob.digest);
});

test("what was written before is still there when the file is opened again", async () => {
  await using made = await makeHalfDone();
  await using file = await openPartialFile(made.store, blob);
  expect([0, 1, 2, 3].map((piece) => file.has(piece))).toEqual([true, false, true, false]);
  expect(file.completedBytes).toBe(2 * pieceBytes);
  for (const piece of [1, 3]) await file.write(piece, pieceOf(piece));
  expect(await file.finish()).toBe(blob.digest);
});

test("a piece that was damaged on the disk is missing again, and the others are not", async () => {
  await using made = await makeHalfDone();
  await using damaged = await open(made.path, "r+");
  await damaged.write(Buffer.from([(content[2 * pieceBytes + 5] ?? 0) ^ 1]), 0, 1, 2 * pieceBytes + 5);
  await using file = await openPartialFile(made.store, blob);
  for (const piece of [1, 3]) await file.write(piece, pieceOf(piece));
  expect(await file.finish()).toBeUndefined();
  expect([0, 1, 2, 3].filter((piece) => !file.has(piece))).toEqual([2]);
  await file.write(2, pieceOf(2));
  expect(await file.finish()).toBe(blob.digest);
});

test.for([
  ["a torn last line", (path: string) => appendFile(`${path}.journal`, '{"piece":1,"crc'), 2],
  ["lines of somebody else", (path: string) => appendFile(`${path}.journal`, 'x\n{}\n{"piece":-1}\n[]\n'), 2],
  ["an empty journal", (path: string) => truncate(`${path}.journal`, 0), 0],
  ["content of another size", (path: string) => truncate(path, 5), 0],
] as const)("a download goes on after %s", async ([, damage, kept]) => {
  await using made = await makeHalfDone();
  await damage(made.path);
  await using file = await openPartialFile(made.store, blob);
  expect(file.completedBytes).toBe(kept * pieceBytes);
  for (const piece of [0, 1, 2, 3]) if (!file.has(piece)) await file.write(piece, pieceOf(piece));
  expect(await file.finish()).toBe(blob.digest);
});

test("a journal of another size of the same digest is not believed", async () => {
  await using made = await makeHalfDone();
  await using file = await openPartialFile(made.store, { ...blob, size: blob.size + 1 });
  expect(file.completedBytes).toBe(0);
});

test("the file takes no more room than its pieces, and nothing is left when it is removed", async () => {
  await using made = await makeHalfDone();
  const { size, blocks } = await stat(made.path);
  expect(size).toBe(blob.size);
  expect(blocks * 512).toBeLessThan(blob.size);
  await using file = await openPartialFile(made.store, blob);
  await file.remove();
  expect(await readdir(join(made.path, ".."))).toEqual([]);
});

test("nothing is a file too", async () => {
  await using made = await makeStore();
  await using file = await openPartialFile(made.store, { digest: digestOf(""), size: 0 });
  expect(await file.finish()).toBe(digestOf(""));
  expect(
    createHash("sha256")
      .update(await readFile(file.path))
      .digest("hex"),
  ).toBe(digestOf("").slice(7));
});
