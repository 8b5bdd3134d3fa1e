import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { explainFileError, FailureError } from "@hearth-and-keep/failures";
import type { CommandFailure } from "../failures.ts";

const maxFileBytes = 8 * 1024 * 1024;

/** Returns a writer to a file that is rotated when it is full; the previous file is kept as `.1`. */
export function openLogFile(file: string, maxBytes = maxFileBytes): (line: string) => void {
  const path = file.replace(/^~(?=\/)/u, homedir());
  let bytes = openForAppend(path, file);
  return (line) => {
    if (bytes > 0 && bytes + line.length > maxBytes) {
      renameSync(path, `${path}.1`);
      bytes = 0;
    }
    appendFileSync(path, line, { mode: 0o600 });
    bytes += Buffer.byteLength(line);
  };
}

/** Creates the file and returns its size. An unusable path fails here, at start, rather than at the first log line. */
function openForAppend(path: string, file: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    appendFileSync(path, "", { mode: 0o600 });
    return statSync(path).size;
  } catch (error) {
    const reason = explainFileError(error);
    if (reason === undefined) throw error;
    throw new FailureError<CommandFailure>({ kind: "log-file-unusable", file, reason }, { cause: error });
  }
}
