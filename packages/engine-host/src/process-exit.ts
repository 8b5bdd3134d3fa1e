import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import type { EngineFailure } from "@hearth-and-keep/engine";
import type { MemoryCgroup } from "./memory/memory-cgroup.ts";

export type ProcessExit = {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Known only if the process ran in a memory cgroup. */
  readonly ranOutOfMemory: boolean;
};

/** Waits for a child to exit and removes its cgroup. A program that cannot be started counts as exited. */
export async function waitForExit(
  child: ChildProcess,
  cgroup: MemoryCgroup | undefined,
): Promise<ProcessExit> {
  const exit = await waitForExitCode(child);
  const ranOutOfMemory = cgroup?.wasOomKilled() ?? false;
  void cgroup?.remove();
  return { ...exit, ranOutOfMemory };
}

/** A launcher such as bubblewrap reports its child's signal as an exit code above 128. */
function waitForExitCode(child: ChildProcess): Promise<Omit<ProcessExit, "ranOutOfMemory">> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ exitCode: null, signal: null }));
    child.once("exit", (exitCode, signal) => {
      const childSignal = exitCode !== null && exitCode > 128 ? signalNumbers.get(exitCode - 128) : undefined;
      resolve(childSignal === undefined ? { exitCode, signal } : { exitCode: null, signal: childSignal });
    });
  });
}

export function exitFailure({ exitCode, signal, ranOutOfMemory }: ProcessExit): EngineFailure {
  if (ranOutOfMemory) return { kind: "insufficient-memory", neededBytes: null };
  return { kind: "engine-crashed", exitCode, signal };
}

/** Some numbers have two names; the first is the common one. */
const signalNumbers = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);
