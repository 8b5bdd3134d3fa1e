import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import type { EngineFailure } from "@hearth-and-keep/engine";
import type { MemoryCgroup } from "./memory/memory-cgroup.ts";

export type ProcessEnd = {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Known only where a cgroup counts the memory of what ended. */
  readonly ranOutOfMemory: boolean;
};

/** How a child ended, its cgroup left behind; a program that cannot be started ends at once. */
export async function whenEnded(child: ChildProcess, cgroup: MemoryCgroup | undefined): Promise<ProcessEnd> {
  const end = await exitOf(child);
  const ranOutOfMemory = cgroup?.ranOut() ?? false;
  void cgroup?.remove();
  return { ...end, ranOutOfMemory };
}

/** A shell-like launcher in between reports the signal that ended its child as an exit code above 128. */
function exitOf(child: ChildProcess): Promise<Omit<ProcessEnd, "ranOutOfMemory">> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ exitCode: null, signal: null }));
    child.once("exit", (exitCode, signal) => {
      const passedOn = exitCode !== null && exitCode > 128 ? signalNumbers.get(exitCode - 128) : undefined;
      resolve(passedOn === undefined ? { exitCode, signal } : { exitCode: null, signal: passedOn });
    });
  });
}

export function failureOf({ exitCode, signal, ranOutOfMemory }: ProcessEnd): EngineFailure {
  if (ranOutOfMemory) return { kind: "memory-lacking", neededBytes: null };
  return { kind: "engine-died", exitCode, signal };
}

/** Some numbers have two names; the first one is the one everybody knows. */
const signalNumbers = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);
