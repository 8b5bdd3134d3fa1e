import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { clientFailure } from "./client-failure.ts";
import { fileFailure, isOwn, readRegularFile } from "./regular-file.ts";

const privateFile = 0o600;
const privateFolder = 0o700;
const othersMode = 0o077;

/** Replaces a file that only this user can read, at once: another process sees the old content or the new one. */
export async function writePrivateFile(file: string, content: string | Uint8Array): Promise<void> {
  // Not needed to read, and slow to load.
  const { randomBytes } = process.getBuiltinModule("node:crypto");
  const fresh = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: privateFolder });
    const handle = await open(fresh, "wx", privateFile);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true });
    throw fileFailure(file, error);
  }
}

/**
 * Undefined when there is none. Refuses a file that other users can read, because it may already be known to them, and one
 * that another user put there.
 */
export async function readPrivateFile(file: string, maxBytes: number): Promise<Buffer | undefined> {
  const found = await readRegularFile(file, maxBytes);
  if (found === undefined) return undefined;
  const { content, stats } = found;
  if (process.platform !== "win32" && (stats.mode & othersMode) !== 0)
    throw clientFailure({ kind: "credentials-readable", file });
  if (!isOwn(stats))
    throw clientFailure({ kind: "file-unusable", file, reason: "it belongs to another user" });
  return content;
}
