import { open } from "node:fs/promises";

/** Where checkpoints are kept apart from the database, one a line. */
export type CheckpointFile = {
  /** False when it could not be written; what is missing is written along with the next. */
  append(line: string): Promise<boolean>;
};

const mostWaiting = 10_000;

export function openCheckpointFile(path: string): CheckpointFile {
  let waiting: string[] = [];
  let last: Promise<boolean> = Promise.resolve(true);
  const write = async (): Promise<boolean> => {
    const lines = waiting;
    if (lines.length === 0) return true;
    waiting = [];
    try {
      await using file = await open(path, "a", 0o600);
      await file.appendFile(lines.join(""));
      await file.sync();
      return true;
    } catch {
      waiting = [...lines, ...waiting].slice(-mostWaiting);
      return false;
    }
  };
  return {
    append(line) {
      waiting.push(line);
      last = last.then(write);
      return last;
    },
  };
}
