import { createHash } from "node:crypto";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { addUpload } from "./add-upload.ts";
import { createFromFile } from "./create-from-file.ts";
import { removeOldUploads } from "./prune.ts";
import { digestPath, findBlob } from "./store/blob-store.ts";
import { digestFromHash } from "./store/digest.ts";
import type { Disk } from "./store/read-disk.ts";
import { createTestStore, listFiles } from "./test/stores.ts";

const megabyte = 1024 * 1024;

function uploadOf(megabytes: number, { isAnnounced = true } = {}) {
  const chunk = Buffer.alloc(megabyte, megabytes);
  const hash = createHash("sha256");
  for (let index = 0; index < megabytes; index += 1) hash.update(chunk);
  return {
    digest: digestFromHash(hash.digest()),
    announcedBytes: isAnnounced ? megabytes * megabyte : undefined,
    content: (async function* () {
      for (let index = 0; index < megabytes; index += 1) yield chunk;
    })(),
  };
}

/** A disk with this much space left, of which an upload takes what it writes. */
function diskWith(freeMegabytes: number, totalMegabytes: number) {
  return async (): Promise<Disk> => ({
    totalBytes: totalMegabytes * megabyte,
    freeBytes: freeMegabytes * megabyte,
  });
}

test("an upload that fits is stored", async () => {
  await using testStore = await createTestStore();
  const upload = uploadOf(40);
  await addUpload(testStore.store, upload, diskWith(100, 1000));
  expect(await findBlob([testStore.store], { digest: upload.digest })).toBeDefined();
});

test.each([
  ["leave less than a twentieth of the disk", diskWith(100, 1000)],
  ["take more than half of the disk", diskWith(100, 100)],
])("an upload that would %s is rejected before its first byte", async (_case, readDisk) => {
  await using testStore = await createTestStore();
  await expect(addUpload(testStore.store, uploadOf(60), readDisk)).rejects.toMatchObject({
    failure: { kind: "store-full" },
  });
  expect(await listFiles(testStore.path)).toEqual([]);
});

test("an upload of unknown length stops when the disk is nearly full, and leaves nothing", async () => {
  await using testStore = await createTestStore();
  let free = 200;
  const readDisk = async (): Promise<Disk> => diskWith((free -= 80), 1000)();
  const upload = uploadOf(150, { isAnnounced: false });
  await expect(addUpload(testStore.store, upload, readDisk)).rejects.toMatchObject({
    failure: { kind: "store-full" },
  });
  expect(await listFiles(testStore.path)).toEqual([]);
});

test("uploads that no model uses count together, and those of a model do not", async () => {
  await using testStore = await createTestStore();
  const { store } = testStore;
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const readDisk = diskWith(90, 100);
  await addUpload(store, uploadOf(30), readDisk);
  await expect(addUpload(store, uploadOf(21), readDisk)).rejects.toMatchObject({
    failure: { kind: "store-full" },
  });
  await addUpload(store, uploadOf(19), readDisk);
});

test("an upload from which no model was created is removed after a day", async () => {
  await using testStore = await createTestStore();
  const { store } = testStore;
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const [old, recent] = [uploadOf(1), uploadOf(2)];
  await addUpload(store, old);
  await addUpload(store, recent);
  const before = await listFiles(store.root);
  const yesterday = Date.now() / 1000 - 25 * 3600;
  for (const path of before) await utimes(join(store.root, path), yesterday, yesterday);
  await utimes(digestPath(store.root, "blobs", recent.digest), Date.now() / 1000, Date.now() / 1000);
  expect((await removeOldUploads([store])).map(({ name }) => name)).toEqual([old.digest]);
  expect(await listFiles(store.root)).toHaveLength(before.length - 1);
});
