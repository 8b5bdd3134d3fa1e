import { setTimeout as sleep } from "node:timers/promises";
import { hasVariable, processIds } from "./process-table.ts";

const graceSeconds = 10;
const pollMilliseconds = 50;

/**
 * Stops every process that has this folder as its HOME, including child processes that inherited it: a background
 * server outlives the command that started it, and a hanging command outlives its shell.
 */
export async function stopProgramsOf(home: string): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const deadline = Date.now() + graceSeconds * 1000;
    for (const pid of programsOf(home)) send(pid, signal);
    while (programsOf(home).length > 0 && Date.now() < deadline) await sleep(pollMilliseconds);
  }
}

function programsOf(home: string): readonly number[] {
  return processIds().filter((pid) => pid !== process.pid && hasVariable(pid, "HOME", home));
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has already exited.
  }
}
