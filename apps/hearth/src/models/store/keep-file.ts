import { mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { explainWriteProblem } from "./stage-content.ts";

/** Gives staged content its name. After a crash the name holds the old content or the new, never a part of it. */
export async function keepFile(stagedPath: string, path: string): Promise<void> {
  const folder = dirname(path);
  try {
    const firstMade = await mkdir(folder, { recursive: true });
    await rename(stagedPath, path);
    await syncFolder(folder);
    if (firstMade !== undefined) await syncFoldersUpTo(folder, dirname(firstMade));
  } catch (problem) {
    throw explainWriteProblem(problem);
  }
}

async function syncFoldersUpTo(folder: string, last: string): Promise<void> {
  for (let current = folder; current !== last; current = dirname(current)) await syncFolder(dirname(current));
}

/** A rename is on the disk only when its folder is. Windows has no such call and needs none. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync();
}
