import { constants } from "node:fs";
import { type FileHandle, lstat, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { modelFailure } from "../model-failure.ts";
import { commitFile, syncFolder } from "./commit-file.ts";
import { type Digest, digestOf } from "./digest.ts";
import type { ModelStore, ModelStores } from "./model-store.ts";
import { hashFile, mapWriteError, type StagedContent, writeStagedContent } from "./staged-content.ts";

/** A blob as a manifest references it. */
export type BlobReference = { readonly digest: Digest; readonly size: number };
export type FoundBlob = BlobReference & { readonly path: string; readonly modifiedNanoseconds: bigint };

/**
 * The only function that turns a digest into a path. `partial` holds unfinished downloads. `shards` holds one folder
 * per split model, keyed by the digest of its first shard, in which the shards have the file names that llama.cpp
 * expects.
 */
export function digestPath(root: string, folder: "blobs" | "shards" | "partial", digest: Digest): string {
  return join(root, folder, digest.replace(":", "-"));
}

/**
 * Finds a regular file of the right size under the digest. Blobs that we write are hashed before they get their name;
 * blobs that another program wrote are verified when they are read in full, or by `verifyBlob`.
 */
export async function findBlob(
  stores: ModelStores,
  { digest, size }: { readonly digest: Digest; readonly size?: number },
): Promise<FoundBlob | undefined> {
  for (const { root } of stores) {
    const path = digestPath(root, "blobs", digest);
    const status = await lstat(path, { bigint: true }).catch(rethrowIoError);
    if (status?.isFile() !== true) continue;
    const found = { path, digest, size: Number(status.size), modifiedNanoseconds: status.mtimeNs };
    if (size === undefined || found.size === size) return found;
  }
  return undefined;
}

export async function requireBlob(stores: ModelStores, reference: BlobReference): Promise<FoundBlob> {
  const found = await findBlob(stores, reference);
  if (found === undefined) throw modelFailure({ kind: "blob-missing", digest: reference.digest });
  return found;
}

async function openBlob(stores: ModelStores, reference: BlobReference): Promise<FileHandle> {
  const { path } = await requireBlob(stores, reference);
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
}

/** Reads a small blob into memory and verifies its digest. */
export async function readBlob(stores: ModelStores, reference: BlobReference): Promise<Buffer> {
  await using file = await openBlob(stores, reference);
  const content = await file.readFile();
  requireDigest(reference.digest, digestOf(content));
  return content;
}

/** Hashes the whole blob again; throws when the content does not match the digest. */
export async function verifyBlob(stores: ModelStores, reference: BlobReference): Promise<void> {
  await using file = await openBlob(stores, reference);
  requireDigest(reference.digest, (await hashFile(file)).digest);
}

/** Stores content under a digest that the client chose; throws when the content does not match it. */
export async function addBlob(
  store: ModelStore,
  expected: Digest,
  chunks: AsyncIterable<Uint8Array>,
): Promise<BlobReference> {
  await using staged = await writeStagedContent(store, chunks);
  requireDigest(expected, staged.digest);
  await store.runExclusive(() => commitBlob(store, staged));
  return { digest: staged.digest, size: staged.size };
}

/**
 * Replaces any file under the same digest, because another program may have written it unverified. Processes that
 * have the old file open keep reading it. Must run inside `runExclusive`.
 */
export async function commitBlob(store: ModelStore, staged: StagedContent): Promise<void> {
  await commitFile(staged.path, digestPath(store.root, "blobs", staged.digest));
}

/** Returns the number of bytes freed: 0 when there was no such blob. Must run inside `runExclusive`. */
export async function removeBlob(store: ModelStore, digest: Digest): Promise<number> {
  await rm(digestPath(store.root, "shards", digest), { recursive: true, force: true });
  const found = await findBlob([store], { digest });
  if (found === undefined) return 0;
  await rm(found.path, { force: true });
  await syncFolder(dirname(found.path));
  return found.size;
}

/** An I/O error does not mean that the blob is missing; every other error of lstat does. */
function rethrowIoError(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "EIO") throw mapWriteError(error);
}

function requireDigest(expected: Digest, actual: Digest): void {
  if (expected !== actual) throw modelFailure({ kind: "digest-mismatch", expected, actual });
}
