import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { LaunchOptions } from "./launch-options.ts";
import type { Machine } from "./machine.ts";
import { listAncestors } from "./visible-files.ts";

/** Whether launched processes run as `nobody`; only a root server can change the user. */
export function runsAsNobody({ isRoot, setpriv, bubblewrap, restrictedStart }: Machine): boolean {
  if (!isRoot) return false;
  // The restricted start changes the user itself, but it cannot run inside bubblewrap.
  return setpriv !== undefined || (bubblewrap === undefined && restrictedStart !== undefined);
}

/** No model ever runs as root. */
export function rejectRoot(machine: Machine): void {
  if (!machine.isRoot || runsAsNobody(machine)) return;
  reject("it would run as root; install setpriv, or start the server as another user");
}

/** Without bubblewrap, `nobody` sees files where they are, and can be kept out by a folder above them. */
export function rejectUnreadable(
  { program, programPaths, modelFiles }: LaunchOptions,
  machine: Machine,
): void {
  if (!runsAsNobody(machine)) return;
  const unreadable = [
    [[program, ...programPaths], "the engine"],
    [modelFiles, "the model"],
  ] as const;
  for (const [paths, what] of unreadable) {
    if (paths.every(isReadableByAll)) continue;
    reject(
      `it would run as the user "nobody", who cannot read the files of ${what}; install bubblewrap, move the files out of private folders, or start the server as another user`,
    );
  }
}

const readable = 0o004;
const enterable = 0o001;

function isReadableByAll(path: string): boolean {
  return allows(path, readable) && listAncestors(dirname(path)).every((folder) => allows(folder, enterable));
}

/** A path that does not exist is reported by whoever opens it. */
function allows(path: string, access: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined || (found.mode & access) !== 0;
}

function reject(reason: string): never {
  throw new FailureError<EngineFailure>({ kind: "sandbox-unavailable", reason });
}
