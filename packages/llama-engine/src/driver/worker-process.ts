import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import type { Machine } from "../sandbox/machine.ts";
import type { MemoryCgroup } from "../sandbox/memory-cgroup.ts";
import { foldersOfProgram, planLaunch } from "../sandbox/plan-launch.ts";
import type { FromWorker, ToWorker } from "../worker/messages.ts";

export type WorkerEnd = {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Known only where a cgroup counts the worker's memory. */
  readonly ranOutOfMemory: boolean;
};

export type WorkerProcess = {
  readonly pid: number;
  send(message: ToWorker): void;
  kill(): void;
  readonly ended: Promise<WorkerEnd>;
};

/** In a clone the worker is TypeScript; in an installed program it is built beside the server. */
const program = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("../worker/main.ts", import.meta.url)
    : new URL("./engine/worker/engine-worker.js", import.meta.url),
);

export type WorkerPlan = {
  readonly modelFiles: readonly string[];
  readonly usesGpu: boolean;
  readonly limitBytes: number;
  /** Removed when the worker has ended. */
  readonly cgroup: MemoryCgroup | undefined;
  readonly machine: Machine;
};

/** Starts a worker locked in as far as the machine allows, with nothing of the server's environment in it. */
export function startWorker(plan: WorkerPlan, onMessage: (message: FromWorker) => void): WorkerProcess {
  const { modelFiles, usesGpu, limitBytes, cgroup, machine } = plan;
  const launch = planLaunch(
    {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles,
      programFolders: foldersOfProgram(program),
      usesGpu,
      memory: { limitBytes, ...(cgroup === undefined ? {} : { cgroupEntrance: cgroup.entrance }) },
    },
    machine,
  );
  const child = spawn(launch.command, [...launch.words], {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: launch.environment,
  });
  child.on("message", onMessage);
  return {
    pid: child.pid ?? -1,
    // A message to a worker that has just died is lost; its end is told separately.
    send: (message) => void (child.connected && child.send(message)),
    kill: () => void child.kill("SIGKILL"),
    ended: whenEnded(child).then((end) => leaveCgroup(cgroup, end)),
  };
}

type ProcessEnd = Omit<WorkerEnd, "ranOutOfMemory">;

/** A shell-like launcher in between reports the signal that ended its child as an exit code above 128. */
function whenEnded(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ exitCode: null, signal: null }));
    child.once("exit", (exitCode, signal) => {
      const passedOn = exitCode !== null && exitCode > 128 ? signalNumbers.get(exitCode - 128) : undefined;
      resolve(passedOn === undefined ? { exitCode, signal } : { exitCode: null, signal: passedOn });
    });
  });
}

function leaveCgroup(cgroup: MemoryCgroup | undefined, end: ProcessEnd): WorkerEnd {
  const ranOutOfMemory = cgroup?.ranOut() ?? false;
  void cgroup?.remove();
  return { ...end, ranOutOfMemory };
}

/** Some numbers have two names; the first one is the one everybody knows. */
const signalNumbers = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);
