import { open } from "node:fs/promises";

/** Checkpoints stored outside the database, one per line. */
export type CheckpointFile = {
  /** False when the file could not be written; the lines are kept and written with the next append. */
  append(line: string): Promise<boolean>;
};

const maxPendingLines = 10_000;

export function openCheckpointFile(path: string): CheckpointFile {
  let pending: string[] = [];
  let lastFlush: Promise<boolean> = Promise.resolve(true);
  const flush = async (): Promise<boolean> => {
    const lines = pending;
    if (lines.length === 0) return true;
    pending = [];
    try {
      await using file = await open(path, "a", 0o600);
      await file.appendFile(lines.join(""));
      await file.sync();
      return true;
    } catch {
      pending = [...lines, ...pending].slice(-maxPendingLines);
      return false;
    }
  };
  return {
    append(line) {
      pending.push(line);
      lastFlush = lastFlush.then(flush);
      return lastFlush;
    },
  };
}
