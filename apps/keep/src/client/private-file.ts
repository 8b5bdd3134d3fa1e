import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { explainFileError } from "@hearth-and-keep/failures";
import { clientFailure } from "./client-failure.ts";

const privateFile = 0o600;
const privateFolder = 0o700;
const othersMode = 0o077;

/** Replaces a file that only this user can read, at once: another process sees the old content or the new one. */
export async function writePrivateFile(file: string, content: string | Uint8Array): Promise<void> {
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
    throw unusable(file, error);
  }
}

/** Undefined when there is none. Refuses a file that other users can read, because it may already be known to them. */
export async function readPrivateFile(file: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    await using handle = await open(file, "r");
    const { mode, size } = await handle.stat();
    if (process.platform !== "win32" && (mode & othersMode) !== 0)
      throw clientFailure({ kind: "credentials-readable", file });
    if (size > maxBytes) throw clientFailure({ kind: "file-unusable", file, reason: "it is too large" });
    return await handle.readFile();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): unknown {
  const reason = explainFileError(error);
  return reason === undefined
    ? error
    : clientFailure({ kind: "file-unusable", file, reason }, { cause: error });
}
