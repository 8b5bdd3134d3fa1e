import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants, stat } from "node:fs/promises";
import { join } from "node:path";
import { programEnvironment, searchFolders } from "./config.ts";

export type ProgramRun = {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

/** The path of the first of these executables that is in PATH. */
export async function findExecutable(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of searchFolders()) {
      const path = join(folder, name);
      if (await isExecutable(path)) return path;
    }
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** Signals that others send to this process. */
const forwardedSignals = ["SIGTERM", "SIGHUP"] as const;
/** Signals that the terminal sends to both processes, so the program alone decides what they mean. */
const sharedSignals = ["SIGINT", "SIGQUIT"] as const;

/** Runs a program in this terminal. This process ends as the program does: with its exit code, or by the same signal. */
export async function runProgram(path: string, { args, environment }: ProgramRun): Promise<void> {
  const child = spawn(path, args, { stdio: "inherit", env: programEnvironment(environment) });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of forwardedSignals) process.on(signal, forward);
  for (const signal of sharedSignals) process.on(signal, ignore);
  try {
    // Node documents the arguments of "exit" as the exit code and the signal.
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    process.exitCode = code ?? 1;
    if (signal === null) return;
    for (const each of [...forwardedSignals, ...sharedSignals]) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  } finally {
    for (const signal of forwardedSignals) process.off(signal, forward);
    for (const signal of sharedSignals) process.off(signal, ignore);
  }
}

function ignore(): void {
  // The handler alone keeps the signal from ending this process.
}
