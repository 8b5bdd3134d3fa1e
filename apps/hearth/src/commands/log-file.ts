import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { explainFileProblem, FailureError } from "@hearth-and-keep/failures";
import type { CommandFailure } from "../failures.ts";

const mostBytes = 8 * 1024 * 1024;

/** Writes lines to a file that begins anew when it is full; the one before it stays beside it as `.1`. */
export function openLogFile(file: string, most = mostBytes): (line: string) => void {
  const path = file.replace(/^~(?=\/)/u, homedir());
  let bytes = makeFile(path, file);
  return (line) => {
    if (bytes > 0 && bytes + line.length > most) {
      renameSync(path, `${path}.1`);
      bytes = 0;
    }
    appendFileSync(path, line, { mode: 0o600 });
    bytes += Buffer.byteLength(line);
  };
}

/** Whatever is wrong with the place is told at the start, not at the first line. Gives how much is in it. */
function makeFile(path: string, file: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    appendFileSync(path, "", { mode: 0o600 });
    return statSync(path).size;
  } catch (problem) {
    const reason = explainFileProblem(problem);
    if (reason === undefined) throw problem;
    throw new FailureError<CommandFailure>({ kind: "log-file-unusable", file, reason }, { cause: problem });
  }
}
