import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { modelFailure } from "../model-failure.ts";
import { type Digest, toDigest } from "./digest.ts";
import { type ModelStore, partialFolder } from "./model-store.ts";

/** Content on the disk that has no name yet; it goes with its scope unless it was kept. */
export type StagedContent = AsyncDisposable & {
  readonly path: string;
  readonly digest: Digest;
  readonly size: number;
};

const chunkBytes = 1024 * 1024;

/** Writes and hashes at once. When the chunks throw, nothing is left. */
export async function stageContent(
  store: ModelStore,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<StagedContent> {
  return stage(store, async (path) => {
    await using file = await open(path, "wx", 0o644);
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of chunks) {
      hash.update(chunk);
      await file.writeFile(chunk);
      size += chunk.length;
    }
    await file.sync();
    return { digest: toDigest(hash.digest()), size };
  });
}

/**
 * A copy of a file, by sharing its blocks where the file system can. Never a hard link: whoever later writes
 * into the original would change what the digest promises.
 */
export async function stageFile(store: ModelStore, source: string): Promise<StagedContent> {
  await using file = await openRegular(source);
  try {
    return await stage(store, (path) => cloneAndHash(source, path));
  } catch (problem) {
    if (!isCloneRefused(problem)) throw problem;
    return await stageContent(store, file.createReadStream({ highWaterMark: chunkBytes, autoClose: false }));
  }
}

async function cloneAndHash(source: string, path: string): Promise<{ digest: Digest; size: number }> {
  await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
  await using file = await open(path, "r+");
  await file.sync();
  // Awaited here, because the scope closes the file.
  return await hashFile(file);
}

export async function hashFile(file: FileHandle): Promise<{ digest: Digest; size: number }> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of file.createReadStream({ highWaterMark: chunkBytes, autoClose: false })) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { digest: toDigest(hash.digest()), size };
}

async function stage(
  store: ModelStore,
  write: (path: string) => Promise<{ digest: Digest; size: number }>,
): Promise<StagedContent> {
  const path = join(partialFolder(store.root), randomUUID());
  try {
    const { digest, size } = await write(path);
    return { path, digest, size, [Symbol.asyncDispose]: () => rm(path, { force: true }) };
  } catch (problem) {
    await rm(path, { force: true });
    throw explainWriteProblem(problem);
  }
}

/** Opening a pipe would wait for its other end; without blocking it is opened and then refused. */
async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    throw modelFailure({ kind: "model-file-invalid", reason: "The file cannot be read" }, { cause });
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw modelFailure({ kind: "model-file-invalid", reason: "It is not a regular file" });
}

/** What the file system said becomes what the person can do about it. */
export function explainWriteProblem(cause: unknown): unknown {
  const code = codeOf(cause);
  if (code === "EIO") return modelFailure({ kind: "store-failing" }, { cause });
  if (code === "ENOSPC" || code === "EDQUOT") return modelFailure({ kind: "store-full" }, { cause });
  if (code === "EROFS" || code === "EACCES" || code === "EPERM") {
    return modelFailure({ kind: "store-read-only" }, { cause });
  }
  return cause;
}

function isCloneRefused(problem: unknown): boolean {
  return ["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV", "EINVAL", "ENOTTY"].includes(codeOf(problem) ?? "");
}

function codeOf(problem: unknown): string | undefined {
  const isSystemError = problem instanceof Error && "code" in problem && typeof problem.code === "string";
  return isSystemError ? String(problem.code) : undefined;
}
