import { constants, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { explainFileError } from "@hearth-and-keep/failures";
import { clientFailure } from "./client-failure.ts";

export type RegularFile = { readonly content: Buffer; readonly stats: Stats };

/**
 * Undefined when there is none. Refuses devices and pipes, to which a link in a cloned repository may point and which
 * never end, and reads no more than the limit.
 */
export async function readRegularFile(file: string, maxBytes: number): Promise<RegularFile | undefined> {
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer.
    await using handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = await handle.stat();
    if (!stats.isFile()) throw clientFailure({ kind: "file-unusable", file, reason: "it is not a file" });
    if (stats.size > maxBytes)
      throw clientFailure({ kind: "file-unusable", file, reason: "it is too large" });
    return { content: await handle.readFile(), stats };
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && absent.has(String(error.code));
    if (isAbsent) return undefined;
    throw fileFailure(file, error);
  }
}

const absent = new Set(["ENOENT", "ENOTDIR"]);

/** As a failure, unless the error is not about a file. */
export function fileFailure(file: string, error: unknown): unknown {
  const reason = explainFileError(error);
  return reason === undefined
    ? error
    : clientFailure({ kind: "file-unusable", file, reason }, { cause: error });
}

/** Whether it belongs to this user, or to the administrator. Windows has no such owner. */
export function isOwn({ uid }: Pick<Stats, "uid">): boolean {
  const own = process.getuid?.();
  return own === undefined || uid === own || uid === 0;
}
