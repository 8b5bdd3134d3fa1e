import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export const maxHistoryLines = 1000;

/** Returns the newest line first, as readline expects. */
export function readHistory(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).slice(-maxHistoryLines).toReversed();
  } catch {
    return [];
  }
}

/** Errors are ignored: a chat must work without a writable history. */
export function appendToHistory(file: string, line: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
    const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    if (lines.length > 2 * maxHistoryLines)
      writeFileSync(file, `${lines.slice(-maxHistoryLines).join("\n")}\n`);
  } catch {
    // The disk is full, or the folder belongs to another user.
  }
}
