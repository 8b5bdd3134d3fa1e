import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

type CachedFolder = {
  readonly path: string;
  /** Fills the folder it is given; what it throws leaves nothing behind and reaches the caller. */
  readonly make: (folder: string) => Promise<void>;
};

// No folder takes longer than this to make, so older locks and unfinished folders belong to no living run.
const longestMakingMinutes = 30;

/**
 * Makes a folder of the cache the first time it is asked for, also when many processes ask at once.
 *
 *   absent --lock--> unfinished, beside, under another name --rename--> whole
 *
 * Whether a folder is whole rests on the rename alone. The lock only spares the second asker the work: a lock
 * stolen by mistake costs time, never a half folder.
 */
export async function makeOnce(cached: CachedFolder): Promise<string> {
  const lock = `${cached.path}.lock`;
  await mkdir(dirname(cached.path), { recursive: true });
  while (!(await exists(cached.path))) {
    if (await createLock(lock)) await makeHolding(lock, cached);
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
  } catch (problem) {
    if (hasCode(problem, ["ENOENT"])) return undefined;
    throw problem;
  }
}

async function createLock(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (problem) {
    if (hasCode(problem, ["EEXIST"])) return false;
    throw problem;
  }
}

async function makeHolding(lock: string, cached: CachedFolder): Promise<void> {
  const unfinished = `${cached.path}.unfinished-${randomUUID()}`;
  try {
    // Another run may have made it between our look and our lock.
    if (await exists(cached.path)) return;
    await removeAbandoned(cached.path);
    await mkdir(unfinished);
    await cached.make(unfinished);
    await renameUnlessThere(unfinished, cached.path);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
    await rm(lock, { force: true });
  }
}

async function removeAbandoned(path: string): Promise<void> {
  const folder = dirname(path);
  const left = (await readdir(folder)).filter((name) => name.startsWith(`${basename(path)}.unfinished-`));
  for (const name of left) {
    if (await isTooOld(join(folder, name))) await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function renameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (problem) {
    if (!hasCode(problem, ["EEXIST", "ENOTEMPTY"])) throw problem;
  }
}

async function isAbandonedLock(path: string): Promise<boolean> {
  try {
    const holder = Number.parseInt(await readFile(path, "utf8"), 10);
    // A lock read between its creation and its first byte has no holder yet; only its age can tell.
    return (await isTooOld(path)) || (Number.isInteger(holder) && !isRunning(holder));
  } catch (problem) {
    if (hasCode(problem, ["ENOENT"])) return false;
    throw problem;
  }
}

async function isTooOld(path: string): Promise<boolean> {
  const modified = await modifiedAt(path);
  return modified !== undefined && Date.now() - modified > longestMakingMinutes * 60_000;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (problem) {
    return hasCode(problem, ["EPERM"]);
  }
}

function hasCode(problem: unknown, codes: readonly string[]): boolean {
  return problem instanceof Error && "code" in problem && codes.includes(String(problem.code));
}
