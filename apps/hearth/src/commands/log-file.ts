import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";

const mostBytes = 8 * 1024 * 1024;

/** Writes lines to a file that begins anew when it is full; the one before it stays beside it as `.1`. */
export function openLogFile(file: string, most = mostBytes): (line: string) => void {
  const path = file.replace(/^~(?=\/)/u, homedir());
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return (line) => {
    if (bytes > 0 && bytes + line.length > most) {
      renameSync(path, `${path}.1`);
      bytes = 0;
    }
    appendFileSync(path, line, { mode: 0o600 });
    bytes += Buffer.byteLength(line);
  };
}
