/**
 * @module
 * Files of a model store in Ollama's layout: `manifests/<host>/<namespace>/<model>/<tag>` and `blobs/sha256-<hex>`.
 * Promises that a digest becomes a path in one function, that a file appears under its name only whole, hashed
 * and on the disk, and that no symbolic link inside the store is followed. Our unfinished files lie in `partial/`,
 * where no other program sweeps. Imported by `models/` only.
 */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { modelFailure } from "../model-failure.ts";

export type ModelStore = {
  readonly root: string;
  /** `own`: nobody else writes here. `shared`: another program does, so its blobs are never removed. */
  readonly access: "own" | "shared" | "read-only";
  /** Runs one change after another: a delete and a create at once could lose a blob that both know. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>;
};

/** The first is written to and its names win; the others are only read. */
export type ModelStores = readonly [ModelStore, ...ModelStore[]];

/** An unfinished file that nobody has written to for so long belongs to a process that died. */
const abandonedAfterMilliseconds = 3_600_000;
/** A download has its digest's name, and the next pull goes on with it. */
const downloadName = /^sha256-/u;
const downloadKeptMilliseconds = 7 * 24 * 3_600_000;

export async function openModelStore(folder: string, access: ModelStore["access"]): Promise<ModelStore> {
  const root = resolve(folder);
  if (access !== "read-only") {
    for (const each of ["blobs", "manifests", "partial"]) await mkdir(join(root, each), { recursive: true });
    await removeAbandoned(partialFolder(root));
  }
  let last: Promise<unknown> = Promise.resolve();
  return {
    root,
    access,
    inTurn(work) {
      const turn = last.then(work);
      last = turn.catch(() => undefined);
      return turn;
    },
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
    const kept = downloadName.test(name) ? downloadKeptMilliseconds : abandonedAfterMilliseconds;
    if (status !== undefined && Date.now() - status.mtimeMs > kept) {
      await rm(path, { force: true, recursive: true });
    }
  }
}
