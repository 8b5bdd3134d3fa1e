import { utimes, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createTestStore } from "../test/stores.ts";
import { digestPath, findBlob } from "./blob-store.ts";
import { digestOf } from "./digest.ts";
import type { ModelStore } from "./model-store.ts";
import { openVerifiedBlobs, type VerifiedBlobs } from "./verified-blobs.ts";

const digest = digestOf("right");

async function isVerified(store: ModelStore, verified: VerifiedBlobs): Promise<boolean> {
  const found = await findBlob([store], { digest });
  return found !== undefined && (await verified.verify(found, [store]));
}

test("a blob of another program is hashed before it is used, and a wrong one is not used", async () => {
  await using testStore = await createTestStore();
  const path = digestPath(testStore.path, "blobs", digest);
  await writeFile(path, "wrong");
  const verified = openVerifiedBlobs(testStore.store);
  expect(await isVerified(testStore.store, verified)).toBe(false);
  await writeFile(path, "right");
  expect(await isVerified(testStore.store, verified)).toBe(true);
});

test("a verification survives a restart until the file changes", async () => {
  await using testStore = await createTestStore();
  const path = digestPath(testStore.path, "blobs", digest);
  await writeFile(path, "right");
  await utimes(path, 1000, 1000);
  expect(await isVerified(testStore.store, openVerifiedBlobs(testStore.store))).toBe(true);
  // Same size and time: only hashing it again would show the difference.
  await writeFile(path, "wrong");
  await utimes(path, 1000, 1000);
  expect(await isVerified(testStore.store, openVerifiedBlobs(testStore.store))).toBe(true);
  await utimes(path, 2000, 2000);
  expect(await isVerified(testStore.store, openVerifiedBlobs(testStore.store))).toBe(false);
});
