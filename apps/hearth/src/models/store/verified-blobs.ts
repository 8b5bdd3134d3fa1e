import { appendFile, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { type FoundBlob, verifyBlob } from "./blob-store.ts";
import type { ModelStore, ModelStores } from "./model-store.ts";

/** Records which blobs this program has hashed, because another program may have put any file under a digest. */
export type VerifiedBlobs = {
  /** Whether the content matches the digest; the blob is hashed unless that is already recorded. */
  verify(found: FoundBlob, stores: ModelStores): Promise<boolean>;
  record(found: FoundBlob): Promise<void>;
};

const maxBytes = 8 * 1024 * 1024;

/** Stored as one line per blob in a file of our own store, so that a restart does not hash everything again. */
export function openVerifiedBlobs({ root }: ModelStore): VerifiedBlobs {
  const path = join(root, "verified");
  let reading: Promise<Set<string>> | undefined;
  const recorded = (): Promise<Set<string>> => (reading ??= readLines(path));
  const record = async (found: FoundBlob): Promise<void> => {
    const lines = await recorded();
    const line = lineFor(found);
    if (lines.has(line)) return;
    lines.add(line);
    // A lost line only costs hashing the blob again after the next start.
    await appendFile(path, `${line}\n`, { mode: 0o644 }).catch(() => undefined);
  };
  return {
    record,
    async verify(found, stores) {
      if ((await recorded()).has(lineFor(found))) return true;
      const isValid = await matchesDigest(found, stores);
      if (isValid) await record(found);
      return isValid;
    },
  };
}

async function matchesDigest(found: FoundBlob, stores: ModelStores): Promise<boolean> {
  try {
    await verifyBlob(stores, found);
    return true;
  } catch (error) {
    if (error instanceof FailureError) return false;
    throw error;
  }
}

/** Includes the modification time, so that a changed file is verified again. */
function lineFor({ digest, size, modifiedNanoseconds }: FoundBlob): string {
  return `${digest} ${size} ${modifiedNanoseconds}`;
}

async function readLines(path: string): Promise<Set<string>> {
  const status = await stat(path).catch(() => undefined);
  if (status?.isFile() !== true || status.size > maxBytes) return new Set();
  return new Set((await readFile(path, "utf8")).split("\n"));
}
