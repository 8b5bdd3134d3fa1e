import { mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { mapWriteError } from "./staged-content.ts";

/** Atomically renames staged content to its final path: after a crash the path holds the old content or the new. */
export async function commitFile(stagedPath: string, path: string): Promise<void> {
  const folder = dirname(path);
  try {
    const firstCreated = await mkdir(folder, { recursive: true });
    await rename(stagedPath, path);
    await syncFolder(folder);
    if (firstCreated !== undefined) await syncFoldersUpTo(folder, dirname(firstCreated));
  } catch (error) {
    throw mapWriteError(error);
  }
}

async function syncFoldersUpTo(folder: string, last: string): Promise<void> {
  for (let current = folder; current !== last; current = dirname(current)) await syncFolder(dirname(current));
}

/** A rename is durable only once its folder is synced. Windows neither has nor needs this call. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync();
}
