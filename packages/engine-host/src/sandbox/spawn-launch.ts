import { type ChildProcess, type SerializationType, type StdioOptions, spawn } from "node:child_process";
import { Writable } from "node:stream";
import { sharedFileDescriptor } from "../memory/shared-file.ts";
import { filterDescriptor } from "./bubblewrap-args.ts";
import type { LaunchPlan } from "./plan-launch.ts";

/** What to connect to standard input, output and error, and optionally to a channel. */
export type LaunchStdio = readonly ("ignore" | "inherit" | "pipe" | "ipc")[];

/** On Windows, a detached process would open a window instead. */
const hasProcessGroups = process.platform !== "win32";

/** Starts the process of a plan, and passes bubblewrap its filter. */
export function spawnLaunch(
  { command, args, environment, seccompFilter, sharedDescriptor }: LaunchPlan,
  stdio: LaunchStdio,
  serialization: SerializationType = "json",
): ChildProcess {
  const descriptors: StdioOptions = [...stdio];
  const ignoreUpTo = (end: number): void => {
    while (descriptors.length < end) descriptors.push("ignore");
  };
  if (seccompFilter !== undefined) {
    ignoreUpTo(filterDescriptor);
    descriptors.push("pipe");
  }
  if (sharedDescriptor !== undefined) {
    ignoreUpTo(sharedFileDescriptor);
    descriptors.push(sharedDescriptor);
  }
  const child = spawn(command, [...args], {
    stdio: descriptors,
    env: environment,
    serialization,
    // In a session of its own: without a terminal to write to, and with a process group that `killLaunch` kills.
    detached: hasProcessGroups,
  });
  const filter = child.stdio[filterDescriptor];
  if (filter instanceof Writable) {
    // A process that exits before it has read the filter is reported by its exit.
    filter.on("error", () => undefined);
    filter.end(seccompFilter);
  }
  return child;
}

/**
 * Kills the process with everything it has started. Killed alone while it starts, bubblewrap leaves a child behind that
 * waits for it for ever and keeps the channel open.
 */
export function killLaunch(child: ChildProcess): void {
  const { pid, exitCode, signalCode } = child;
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  if (!hasProcessGroups) {
    child.kill("SIGKILL");
    return;
  }
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just exited.
  }
}
