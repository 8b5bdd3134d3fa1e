import { utimes, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { makeStore } from "../test/stores.ts";
import { digestPath, findBlob } from "./blob-store.ts";
import { digestOf } from "./digest.ts";
import type { ModelStore } from "./model-store.ts";
import { openVerifiedBlobs, type VerifiedBlobs } from "./verified-blobs.ts";

const digest = digestOf("right");

async function isSound(store: ModelStore, verified: VerifiedBlobs): Promise<boolean> {
  const found = await findBlob([store], { digest });
  return found !== undefined && (await verified.isSound(found, [store]));
}

test("a blob that another program left is hashed before it counts, and a wrong one does not", async () => {
  await using made = await makeStore();
  const path = digestPath(made.path, "blobs", digest);
  await writeFile(path, "wrong");
  const verified = openVerifiedBlobs(made.store);
  expect(await isSound(made.store, verified)).toBe(false);
  await writeFile(path, "right");
  expect(await isSound(made.store, verified)).toBe(true);
});

test("that it was hashed is remembered after a restart, until the file changes", async () => {
  await using made = await makeStore();
  const path = digestPath(made.path, "blobs", digest);
  await writeFile(path, "right");
  await utimes(path, 1000, 1000);
  expect(await isSound(made.store, openVerifiedBlobs(made.store))).toBe(true);
  // Same size and time: only whoever hashes it again could tell.
  await writeFile(path, "wrong");
  await utimes(path, 1000, 1000);
  expect(await isSound(made.store, openVerifiedBlobs(made.store))).toBe(true);
  await utimes(path, 2000, 2000);
  expect(await isSound(made.store, openVerifiedBlobs(made.store))).toBe(false);
});
