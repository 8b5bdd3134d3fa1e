import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { modelFailure } from "../model-failure.ts";
import { type Digest, digestFromHash } from "./digest.ts";
import { type ModelStore, partialFolder } from "./model-store.ts";

/** Content on disk without a final name; disposing it deletes the file unless it was committed. */
export type StagedContent = AsyncDisposable & {
  readonly path: string;
  readonly digest: Digest;
  readonly size: number;
};

const chunkBytes = 1024 * 1024;

/** Writes and hashes content in one pass. When the source throws, no file is left behind. */
export async function writeStagedContent(
  store: ModelStore,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<StagedContent> {
  return writeTemporary(store, async (path) => {
    await using file = await open(path, "wx", 0o644);
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of chunks) {
      hash.update(chunk);
      await file.writeFile(chunk);
      size += chunk.length;
    }
    await file.sync();
    return { digest: digestFromHash(hash.digest()), size };
  });
}

/**
 * Copies a file, by a reflink where the file system supports it. Never a hard link, because a later write to the
 * original would change content that the store has under a digest.
 */
export async function copyToStaging(store: ModelStore, source: string): Promise<StagedContent> {
  await using file = await openRegular(source);
  try {
    return await writeTemporary(store, (path) => cloneAndHash(source, path));
  } catch (error) {
    if (!isCloneUnsupported(error)) throw error;
    return await writeStagedContent(
      store,
      file.createReadStream({ highWaterMark: chunkBytes, autoClose: false }),
    );
  }
}

async function cloneAndHash(source: string, path: string): Promise<{ digest: Digest; size: number }> {
  await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
  await using file = await open(path, "r+");
  await file.sync();
  // Awaited here, because leaving the scope closes the file.
  return await hashFile(file);
}

export async function hashFile(file: FileHandle): Promise<{ digest: Digest; size: number }> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of file.createReadStream({ highWaterMark: chunkBytes, autoClose: false })) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { digest: digestFromHash(hash.digest()), size };
}

async function writeTemporary(
  store: ModelStore,
  write: (path: string) => Promise<{ digest: Digest; size: number }>,
): Promise<StagedContent> {
  const path = join(partialFolder(store.root), randomUUID());
  try {
    const { digest, size } = await write(path);
    return { path, digest, size, [Symbol.asyncDispose]: () => rm(path, { force: true }) };
  } catch (error) {
    await rm(path, { force: true });
    throw mapWriteError(error);
  }
}

/** Opening a pipe would block until its other end is opened, so files are opened non-blocking and then checked. */
async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    throw modelFailure({ kind: "model-file-invalid", reason: "The file cannot be read" }, { cause });
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw modelFailure({ kind: "model-file-invalid", reason: "It is not a regular file" });
}

/** Maps system errors of writes to model failures; other errors are returned unchanged. */
export function mapWriteError(cause: unknown): unknown {
  const code = errorCodeOf(cause);
  if (code === "EIO") return modelFailure({ kind: "store-io-error" }, { cause });
  if (code === "ENOSPC" || code === "EDQUOT") return modelFailure({ kind: "store-full" }, { cause });
  if (code === "EROFS" || code === "EACCES" || code === "EPERM") {
    return modelFailure({ kind: "store-read-only" }, { cause });
  }
  return cause;
}

function isCloneUnsupported(error: unknown): boolean {
  return ["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV", "EINVAL", "ENOTTY"].includes(errorCodeOf(error) ?? "");
}

function errorCodeOf(error: unknown): string | undefined {
  const isSystemError = error instanceof Error && "code" in error && typeof error.code === "string";
  return isSystemError ? String(error.code) : undefined;
}
