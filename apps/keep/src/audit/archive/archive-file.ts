import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rename, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ArchiveError } from "./archive-error.ts";

/** The file of one month. It gets its name only when it is complete. */
export type ArchiveFile = AsyncDisposable & {
  readonly name: string;
  write(text: string): Promise<void>;
  /** Returns the hash of the file once it is on disk. */
  finish(): Promise<Buffer>;
  /** The lines of the finished file. */
  readLines(): AsyncIterable<string>;
  publish(): Promise<void>;
  /** Disposing deletes the file unless it was kept. */
  keep(): void;
};

/** Reserves the name, so that no existing file is overwritten and two runs cannot write the same one. */
export async function createArchiveFile(folder: string, month: string): Promise<ArchiveFile> {
  const name = `audit-${month}.ndjson`;
  const path = join(folder, name);
  const temporaryPath = `${path}.partial`;
  await reserve(path, name);
  const file = await open(temporaryPath, "w", 0o600);
  const hash = createHash("sha256");
  let isKept = false;
  let currentPath = temporaryPath;
  return {
    name,
    async write(text) {
      hash.update(text);
      await file.appendFile(text).catch((error: unknown) => {
        throw describeError(error, name);
      });
    },
    async finish() {
      await file.sync();
      await file.close();
      return hash.digest();
    },
    readLines: () => createInterface({ input: createReadStream(currentPath, "utf8"), crlfDelay: Infinity }),
    async publish() {
      await rename(temporaryPath, path);
      currentPath = path;
      await syncFolder(folder);
    },
    keep() {
      isKept = true;
    },
    async [Symbol.asyncDispose]() {
      await file.close().catch(() => undefined);
      await rm(temporaryPath, { force: true });
      if (!isKept) await rm(path, { force: true });
    },
  };
}

async function reserve(path: string, name: string): Promise<void> {
  try {
    await (await open(path, "wx", 0o600)).close();
  } catch (error) {
    throw describeError(error, name);
  }
}

function describeError(error: unknown, name: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reasons: Readonly<Record<string, string>> = {
    EEXIST: `the file "${name}" is already in the folder; move it away, or archive to another folder`,
    ENOENT: "the folder does not exist",
    ENOTDIR: "what is named as the folder is not one",
    EACCES: "the folder cannot be written to",
    EROFS: "the folder cannot be written to",
    ENOSPC: "there is no space left for the file",
    EDQUOT: "there is no space left for the file",
  };
  const reason = reasons[code];
  return reason === undefined ? error : new ArchiveError(reason, { cause: error });
}

/** So that the name survives a power cut. Some file systems cannot do that, and need not. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync().catch(() => undefined);
}

export async function readFreeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    throw describeError(error, "");
  }
}
