import { setTimeout as sleep } from "node:timers/promises";
import { hasVariable, processIds } from "./process-table.ts";

const graceSeconds = 10;
const lookEveryMilliseconds = 50;

/**
 * Ends every program that has this folder as its home, and what it started with the same one: a server in the
 * background outlives the line that started it, and a line that hangs outlives its shell.
 */
export async function endProgramsOf(home: string): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const deadline = Date.now() + graceSeconds * 1000;
    for (const pid of programsOf(home)) send(pid, signal);
    while (programsOf(home).length > 0 && Date.now() < deadline) await sleep(lookEveryMilliseconds);
  }
}

function programsOf(home: string): readonly number[] {
  return processIds().filter((pid) => pid !== process.pid && hasVariable(pid, "HOME", home));
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended meanwhile.
  }
}
