import { appendFile, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { type FoundBlob, verifyBlob } from "./blob-store.ts";
import type { ModelStore, ModelStores } from "./model-store.ts";

/** Which blobs we ourselves have hashed. Another program may have put a file under any digest. */
export type VerifiedBlobs = {
  /** Whether the blob is what its name says; it is read whole unless that was done before. */
  isSound(found: FoundBlob, stores: ModelStores): Promise<boolean>;
  note(found: FoundBlob): Promise<void>;
};

const mostBytes = 8 * 1024 * 1024;

/** Kept in one file of our own store, a line for each blob, so that nothing is hashed again after a restart. */
export function openVerifiedBlobs({ root }: ModelStore): VerifiedBlobs {
  const path = join(root, "verified");
  let reading: Promise<Set<string>> | undefined;
  const known = (): Promise<Set<string>> => (reading ??= readLines(path));
  const note = async (found: FoundBlob): Promise<void> => {
    const lines = await known();
    const line = lineFor(found);
    if (lines.has(line)) return;
    lines.add(line);
    // A line that cannot be written costs a second look after the next start, and nothing else.
    await appendFile(path, `${line}\n`, { mode: 0o644 }).catch(() => undefined);
  };
  return {
    note,
    async isSound(found, stores) {
      if ((await known()).has(lineFor(found))) return true;
      const isSound = await matches(found, stores);
      if (isSound) await note(found);
      return isSound;
    },
  };
}

async function matches(found: FoundBlob, stores: ModelStores): Promise<boolean> {
  try {
    await verifyBlob(stores, found);
    return true;
  } catch (problem) {
    if (problem instanceof FailureError) return false;
    throw problem;
  }
}

/** A file that was changed has another time, and must be looked at again. */
function lineFor({ digest, size, modifiedNanoseconds }: FoundBlob): string {
  return `${digest} ${size} ${modifiedNanoseconds}`;
}

async function readLines(path: string): Promise<Set<string>> {
  const status = await stat(path).catch(() => undefined);
  if (status?.isFile() !== true || status.size > mostBytes) return new Set();
  return new Set((await readFile(path, "utf8")).split("\n"));
}
