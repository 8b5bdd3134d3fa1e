import { createHash } from "node:crypto";
import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { filesBelow, makeStore } from "../test/stores.ts";
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
import { explainWriteProblem, stageContent } from "./stage-content.ts";

const content = Buffer.from("four score and seven");
const digest = digestOf(content);
const reference = { digest, size: content.length };

test("what is added is found, read, verified and removed again", async () => {
  await using made = await makeStore();
  expect(await addBlob(made.store, digest, chunks(content))).toEqual(reference);
  expect(await filesBelow(made.path)).toEqual([
    `blobs/sha256-${createHash("sha256").update(content).digest("hex")}`,
  ]);
  expect((await readBlob([made.store], reference)).equals(content)).toBe(true);
  await verifyBlob([made.store], reference);
  expect(await removeBlob(made.store, digest)).toBe(content.length);
  expect(await removeBlob(made.store, digest)).toBe(0);
  expect(await findBlob([made.store], reference)).toBeUndefined();
});

test("content that is not what its digest says is refused and leaves nothing", async () => {
  await using made = await makeStore();
  await expect(addBlob(made.store, digest, chunks(Buffer.from("other")))).rejects.toMatchObject({
    failure: { kind: "digest-mismatch", expected: digest },
  });
  expect(await filesBelow(made.path)).toEqual([]);
});

test("a writer that stops in the middle leaves no blob and no part of one", async () => {
  await using made = await makeStore();
  await expect(addBlob(made.store, digest, broken())).rejects.toThrow("the line went dead");
  expect(await filesBelow(made.path)).toEqual([]);
});

test("a process that dies before the rename leaves no blob, and its part goes after an hour", async () => {
  await using made = await makeStore();
  const staged = await stageContent(made.store, [content]);
  expect(await findBlob([made.store], reference)).toBeUndefined();
  await openModelStore(made.path, "own");
  expect(await filesBelow(made.path)).toHaveLength(1);
  const longAgo = new Date(Date.now() - 3_700_000);
  await utimes(staged.path, longAgo, longAgo);
  await openModelStore(made.path, "own");
  expect(await filesBelow(made.path)).toEqual([]);
});

test("a blob of another size, a folder and a link are not the blob", async () => {
  await using made = await makeStore();
  await using elsewhere = await makeTemporaryFolder("elsewhere");
  const path = digestPath(made.path, "blobs", digest);
  await writeFile(join(elsewhere.path, "secret"), content);
  await symlink(join(elsewhere.path, "secret"), path);
  await expect(requireBlob([made.store], reference)).rejects.toMatchObject({
    failure: { kind: "blob-missing" },
  });
  await addBlob(made.store, digest, chunks(content));
  await requireBlob([made.store], reference);
  await expect(requireBlob([made.store], { digest, size: 3 })).rejects.toMatchObject({
    failure: { kind: "blob-missing", digest },
  });
  const other = digestOf("a folder");
  await mkdir(digestPath(made.path, "blobs", other));
  expect(await findBlob([made.store], { digest: other })).toBeUndefined();
});

test("a blob of the right size with other bytes is never believed, and an import mends it", async () => {
  await using made = await makeStore();
  await writeFile(digestPath(made.path, "blobs", digest), "x".repeat(content.length));
  await expect(readBlob([made.store], reference)).rejects.toMatchObject({
    failure: { kind: "digest-mismatch" },
  });
  await expect(verifyBlob([made.store], reference)).rejects.toMatchObject({
    failure: { kind: "digest-mismatch" },
  });
  await addBlob(made.store, digest, chunks(content));
  await verifyBlob([made.store], reference);
});

test("a disk that is full, may not be written or fails is told apart from a defect", () => {
  expect(told("ENOSPC")).toMatchObject({ failure: { kind: "store-full" } });
  expect(told("EACCES")).toMatchObject({ failure: { kind: "store-read-only" } });
  expect(told("EIO")).toMatchObject({ failure: { kind: "store-failing" } });
  expect(told("EBADF")).not.toHaveProperty("failure");
});

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 7) yield bytes.subarray(start, start + 7);
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield content.subarray(0, 4);
  throw new Error("the line went dead");
}

function told(code: string): unknown {
  return explainWriteProblem(Object.assign(new Error("x"), { code }));
}
