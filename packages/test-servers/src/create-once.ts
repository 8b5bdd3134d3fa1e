import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

type CachedFolder = {
  readonly path: string;
  /** Fills the given folder; an error is passed to the caller and leaves nothing behind. */
  readonly create: (folder: string) => Promise<void>;
};

// No folder takes longer than this to create, so older locks and unfinished folders are abandoned.
const maxCreationMinutes = 30;

/**
 * Creates a folder in the cache on first use, even when many processes request it at once.
 *
 *   absent --lock--> unfinished, under another name --rename--> complete
 *
 * Completeness depends on the rename alone. The lock only saves other callers the work: a lock that is stolen by
 * mistake costs time, but never yields an incomplete folder.
 */
export async function createOnce(cached: CachedFolder): Promise<string> {
  const lock = `${cached.path}.lock`;
  await mkdir(dirname(cached.path), { recursive: true });
  while (!(await exists(cached.path))) {
    if (await createLock(lock)) await createHoldingLock(lock, cached);
    else if (await isAbandonedLock(lock)) await rm(lock, { force: true });
    else await sleep(100);
  }
  return cached.path;
}

async function exists(path: string): Promise<boolean> {
  return (await modifiedAt(path)) !== undefined;
}

async function modifiedAt(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (hasCode(error, ["ENOENT"])) return undefined;
    throw error;
  }
}

async function createLock(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (hasCode(error, ["EEXIST"])) return false;
    throw error;
  }
}

async function createHoldingLock(lock: string, cached: CachedFolder): Promise<void> {
  const unfinished = `${cached.path}.unfinished-${randomUUID()}`;
  try {
    // Another run may have created it between our check and our lock.
    if (await exists(cached.path)) return;
    await removeAbandoned(cached.path);
    await mkdir(unfinished);
    await cached.create(unfinished);
    await renameUnlessExists(unfinished, cached.path);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
    await rm(lock, { force: true });
  }
}

async function removeAbandoned(path: string): Promise<void> {
  const folder = dirname(path);
  const unfinished = (await readdir(folder)).filter((name) =>
    name.startsWith(`${basename(path)}.unfinished-`),
  );
  for (const name of unfinished) {
    if (await isTooOld(join(folder, name))) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function renameUnlessExists(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!hasCode(error, ["EEXIST", "ENOTEMPTY"])) throw error;
  }
}

async function isAbandonedLock(path: string): Promise<boolean> {
  try {
    const holder = Number.parseInt(await readFile(path, "utf8"), 10);
    // A lock that is read before its content is written has no holder yet; then only its age counts.
    return (await isTooOld(path)) || (Number.isInteger(holder) && !isRunning(holder));
  } catch (error) {
    if (hasCode(error, ["ENOENT"])) return false;
    throw error;
  }
}

async function isTooOld(path: string): Promise<boolean> {
  const modified = await modifiedAt(path);
  return modified !== undefined && Date.now() - modified > maxCreationMinutes * 60_000;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, ["EPERM"]);
  }
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
