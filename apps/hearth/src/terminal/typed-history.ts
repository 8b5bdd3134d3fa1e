import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export const mostHistoryLines = 1000;

/** The newest first, as line editors want it. */
export function readHistory(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).slice(-mostHistoryLines).toReversed();
  } catch {
    return [];
  }
}

/** A history that cannot be kept keeps nobody from chatting. */
export function appendToHistory(file: string, line: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
    const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    if (lines.length > 2 * mostHistoryLines)
      writeFileSync(file, `${lines.slice(-mostHistoryLines).join("\n")}\n`);
  } catch {
    // Told nowhere: the disk may be full or the folder somebody else's.
  }
}
