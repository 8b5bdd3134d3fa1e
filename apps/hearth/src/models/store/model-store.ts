/**
 * @module
 * Files of a model store in Ollama's layout: `manifests/<host>/<namespace>/<model>/<tag>` and `blobs/sha256-<hex>`.
 * Guarantees that a single function turns digests into paths, that a file gets its final name only once it is
 * complete, hashed and synced to disk, and that no symbolic link inside the store is followed. Our unfinished files
 * are in `partial/`, which no other program cleans up. Several servers can use one store: a lock in `locks/` makes
 * their changes exclude each other. Imported by `models/` only.
 */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { modelFailure } from "../model-failure.ts";
import { ProcessLock } from "./process-lock.ts";

export type ModelStore = {
  readonly root: string;
  /** `own`: only Hearth writes, perhaps several processes of it. `shared`: another program writes too, so its blobs are never removed. */
  readonly access: "own" | "shared" | "read-only";
  /**
   * Runs changes one at a time, also among processes; a concurrent delete could remove a blob that a create is about to
   * reference.
   */
  runExclusive<Result>(work: () => Promise<Result>): Promise<Result>;
  claimDownloads(): DownloadClaim;
};

/** Held for the time of a download. */
type DownloadClaim = Disposable & {
  /** No other process is downloading, so that unfinished downloads can be continued. */
  readonly isExclusive: boolean;
};

/** The first store is writable and its names take precedence; the others are only read. */
export type ModelStores = readonly [ModelStore, ...ModelStore[]];

/** An unfinished file that has not been written to for this long belongs to a process that died. */
const abandonedAfterMilliseconds = 3_600_000;
/** Downloads are named by their digest, so that the next pull can resume them. */
const downloadName = /^sha256-/u;
const downloadRetentionMilliseconds = 7 * 24 * 3_600_000;
/** Changes take milliseconds, so a longer wait means that another process is stuck. */
const maxLockSeconds = 60;
const lockPollMilliseconds = 20;

export async function openModelStore(folder: string, access: ModelStore["access"]): Promise<ModelStore> {
  const root = resolve(folder);
  if (access !== "read-only") {
    for (const each of ["blobs", "manifests", "partial"]) await mkdir(join(root, each), { recursive: true });
    await removeAbandoned(partialFolder(root));
  }
  const changes = new ProcessLock(join(root, "locks", "changes"));
  let last: Promise<unknown> = Promise.resolve();
  return {
    root,
    access,
    runExclusive(work) {
      const current = last.then(() => runLocked(changes, work));
      last = current.catch(() => undefined);
      return current;
    },
    claimDownloads: shareClaims(new ProcessLock(join(root, "locks", "downloads"))),
  };
}

async function runLocked<Result>(lock: ProcessLock, work: () => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + maxLockSeconds * 1000;
  while (!lock.tryAcquire()) {
    if (performance.now() > deadline) throw modelFailure({ kind: "store-busy" });
    await sleep(lockPollMilliseconds);
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** All downloads of this process share one lock, which the first acquires and the last releases. */
function shareClaims(lock: ProcessLock): () => DownloadClaim {
  let holders = 0;
  return () => {
    const isExclusive = holders > 0 || lock.tryAcquire();
    if (isExclusive) holders += 1;
    return {
      isExclusive,
      [Symbol.dispose]() {
        if (!isExclusive) return;
        holders -= 1;
        if (holders === 0) lock.release();
      },
    };
  };
}

export function partialFolder(root: string): string {
  return join(root, "partial");
}

export function writableStore([first]: ModelStores): ModelStore {
  if (first.access === "read-only") throw modelFailure({ kind: "store-read-only" });
  return first;
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const status = await stat(path).catch(() => undefined);
    const maxAge = downloadName.test(name) ? downloadRetentionMilliseconds : abandonedAfterMilliseconds;
    if (status !== undefined && Date.now() - status.mtimeMs > maxAge) {
      await rm(path, { force: true, recursive: true });
    }
  }
}
