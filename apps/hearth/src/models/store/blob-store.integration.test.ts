import { createHash } from "node:crypto";
import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createTestStore, listFiles } from "../test/stores.ts";
import {
  addBlob,
  digestPath,
  findBlob,
  readBlob,
  removeBlob,
  requireBlob,
  verifyBlob,
} from "./blob-store.ts";
import { digestOf } from "./digest.ts";
import { openModelStore } from "./model-store.ts";
import { mapWriteError, writeStagedContent } from "./staged-content.ts";

const content = Buffer.from("four score and seven");
const digest = digestOf(content);
const reference = { digest, size: content.length };

test("a stored blob can be found, read, verified and removed", async () => {
  await using testStore = await createTestStore();
  expect(await addBlob(testStore.store, digest, chunks(content))).toEqual(reference);
  expect(await listFiles(testStore.path)).toEqual([
    `blobs/sha256-${createHash("sha256").update(content).digest("hex")}`,
  ]);
  expect((await readBlob([testStore.store], reference)).equals(content)).toBe(true);
  await verifyBlob([testStore.store], reference);
  expect(await removeBlob(testStore.store, digest)).toBe(content.length);
  expect(await removeBlob(testStore.store, digest)).toBe(0);
  expect(await findBlob([testStore.store], reference)).toBeUndefined();
});

test("content that does not match its digest is rejected and leaves nothing behind", async () => {
  await using testStore = await createTestStore();
  await expect(addBlob(testStore.store, digest, chunks(Buffer.from("other")))).rejects.toMatchObject({
    failure: { kind: "digest-mismatch", expected: digest },
  });
  expect(await listFiles(testStore.path)).toEqual([]);
});

test("an interrupted upload leaves no blob and no partial file", async () => {
  await using testStore = await createTestStore();
  await expect(addBlob(testStore.store, digest, broken())).rejects.toThrow("connection lost");
  expect(await listFiles(testStore.path)).toEqual([]);
});

test("a process that dies before the rename leaves no blob, and its temporary file is removed after an hour", async () => {
  await using testStore = await createTestStore();
  const staged = await writeStagedContent(testStore.store, [content]);
  expect(await findBlob([testStore.store], reference)).toBeUndefined();
  await openModelStore(testStore.path, "own");
  expect(await listFiles(testStore.path)).toHaveLength(1);
  const longAgo = new Date(Date.now() - 3_700_000);
  await utimes(staged.path, longAgo, longAgo);
  await openModelStore(testStore.path, "own");
  expect(await listFiles(testStore.path)).toEqual([]);
});

test("a file of another size, a folder and a link do not count as the blob", async () => {
  await using testStore = await createTestStore();
  await using elsewhere = await makeTemporaryFolder("elsewhere");
  const path = digestPath(testStore.path, "blobs", digest);
  await writeFile(join(elsewhere.path, "secret"), content);
  await symlink(join(elsewhere.path, "secret"), path);
  await expect(requireBlob([testStore.store], reference)).rejects.toMatchObject({
    failure: { kind: "blob-missing" },
  });
  await addBlob(testStore.store, digest, chunks(content));
  await requireBlob([testStore.store], reference);
  await expect(requireBlob([testStore.store], { digest, size: 3 })).rejects.toMatchObject({
    failure: { kind: "blob-missing", digest },
  });
  const other = digestOf("a folder");
  await mkdir(digestPath(testStore.path, "blobs", other));
  expect(await findBlob([testStore.store], { digest: other })).toBeUndefined();
});

test("a blob with the right size and wrong content is rejected, and storing it again repairs it", async () => {
  await using testStore = await createTestStore();
  await writeFile(digestPath(testStore.path, "blobs", digest), "x".repeat(content.length));
  await expect(readBlob([testStore.store], reference)).rejects.toMatchObject({
    failure: { kind: "digest-mismatch" },
  });
  await expect(verifyBlob([testStore.store], reference)).rejects.toMatchObject({
    failure: { kind: "digest-mismatch" },
  });
  await addBlob(testStore.store, digest, chunks(content));
  await verifyBlob([testStore.store], reference);
});

test("a full, read-only or failing disk is a model failure, and other errors are not", () => {
  expect(mapped("ENOSPC")).toMatchObject({ failure: { kind: "store-full" } });
  expect(mapped("EACCES")).toMatchObject({ failure: { kind: "store-read-only" } });
  expect(mapped("EIO")).toMatchObject({ failure: { kind: "store-io-error" } });
  expect(mapped("EBADF")).not.toHaveProperty("failure");
});

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 7) yield bytes.subarray(start, start + 7);
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield content.subarray(0, 4);
  throw new Error("connection lost");
}

function mapped(code: string): unknown {
  return mapWriteError(Object.assign(new Error("x"), { code }));
}
