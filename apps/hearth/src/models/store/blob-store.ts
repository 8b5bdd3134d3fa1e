import { constants } from "node:fs";
import { type FileHandle, lstat, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { modelFailure } from "../model-failure.ts";
import { type Digest, digestOf } from "./digest.ts";
import { keepFile, syncFolder } from "./keep-file.ts";
import type { ModelStore, ModelStores } from "./model-store.ts";
import { explainWriteProblem, hashFile, type StagedContent, stageContent } from "./stage-content.ts";

/** What a manifest says of a blob. */
export type BlobReference = { readonly digest: Digest; readonly size: number };
export type FoundBlob = BlobReference & { readonly path: string; readonly modifiedNanoseconds: bigint };

/**
 * The one place where a digest becomes a path. `shards` holds, by the digest of its first part, the folder in
 * which the parts of a split model have the names that llama.cpp looks for; `partial` what is being downloaded.
 */
export function digestPath(root: string, folder: "blobs" | "shards" | "partial", digest: Digest): string {
  return join(root, folder, digest.replace(":", "-"));
}

/**
 * A blob is present when a regular file of the right size lies under its digest. What we write gets there only
 * after it was hashed; what another program wrote is checked when it is read whole, or by `verifyBlob`.
 */
export async function findBlob(
  stores: ModelStores,
  { digest, size }: { readonly digest: Digest; readonly size?: number },
): Promise<FoundBlob | undefined> {
  for (const { root } of stores) {
    const path = digestPath(root, "blobs", digest);
    const status = await lstat(path, { bigint: true }).catch(refuseFailing);
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

/** A small blob whole; it is hashed on the way, so a damaged one is never believed. */
export async function readBlob(stores: ModelStores, reference: BlobReference): Promise<Buffer> {
  await using file = await openBlob(stores, reference);
  const content = await file.readFile();
  refuseOther(reference.digest, digestOf(content));
  return content;
}

/** Reads the whole blob again; throws when it is not what its name says. */
export async function verifyBlob(stores: ModelStores, reference: BlobReference): Promise<void> {
  await using file = await openBlob(stores, reference);
  refuseOther(reference.digest, (await hashFile(file)).digest);
}

/** Stores content that somebody else named; a blob that is there already is not read again. */
export async function addBlob(
  store: ModelStore,
  expected: Digest,
  chunks: AsyncIterable<Uint8Array>,
): Promise<BlobReference> {
  await using staged = await stageContent(store, chunks);
  refuseOther(expected, staged.digest);
  await store.inTurn(() => keepBlob(store, staged));
  return { digest: staged.digest, size: staged.size };
}

/**
 * Replaces what lies under the name, because another program may have put it there unchecked. Whoever has the
 * old file open keeps it. Call it in the store's turn.
 */
export async function keepBlob(store: ModelStore, staged: StagedContent): Promise<void> {
  await keepFile(staged.path, digestPath(store.root, "blobs", staged.digest));
}

/** Says how many bytes were freed: none when there was nothing. Call it in the store's turn. */
export async function removeBlob(store: ModelStore, digest: Digest): Promise<number> {
  await rm(digestPath(store.root, "shards", digest), { recursive: true, force: true });
  const found = await findBlob([store], { digest });
  if (found === undefined) return 0;
  await rm(found.path, { force: true });
  await syncFolder(dirname(found.path));
  return found.size;
}

/** A disk that cannot tell does not say that a blob is missing. */
function refuseFailing(problem: unknown): undefined {
  if (problem instanceof Error && "code" in problem && problem.code === "EIO") {
    throw explainWriteProblem(problem);
  }
}

function refuseOther(expected: Digest, actual: Digest): void {
  if (expected !== actual) throw modelFailure({ kind: "digest-mismatch", expected, actual });
}
