import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Machine, MemoryCgroup } from "@hearth-and-keep/engine-host";
import { foldersOfProgram, type ProcessEnd, planWorkerLaunch, whenEnded } from "@hearth-and-keep/engine-host";
import type { FromWorker, ToWorker } from "../worker/messages.ts";

export type WorkerProcess = {
  readonly pid: number;
  send(message: ToWorker): void;
  kill(): void;
  readonly ended: Promise<ProcessEnd>;
};

/** In a clone the worker is TypeScript; in an installed program it is built beside the server. */
const program = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("../worker/main.ts", import.meta.url)
    : new URL("./engine/worker/engine-worker.js", import.meta.url),
);

export type WorkerPlan = {
  readonly modelFiles: readonly string[];
  /** What it reads of its program beside what was installed. */
  readonly ownFolders: readonly string[];
  readonly usesGpu: boolean;
  readonly limitBytes: number;
  /** Removed when the worker has ended. */
  readonly cgroup: MemoryCgroup | undefined;
  readonly machine: Machine;
};

/** Starts a worker locked in as far as the machine allows, with nothing of the server's environment in it. */
export function startWorker(plan: WorkerPlan, onMessage: (message: FromWorker) => void): WorkerProcess {
  const { modelFiles, ownFolders, usesGpu, limitBytes, cgroup, machine } = plan;
  const launch = planWorkerLaunch(
    {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles,
      programFolders: [...foldersOfProgram(program), ...ownFolders],
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
    ended: whenEnded(child, cgroup),
  };
}
