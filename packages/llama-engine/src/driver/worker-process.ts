import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Machine, MemoryCgroup } from "@hearth-and-keep/engine-host";
import {
  findProgramFolders,
  type ProcessExit,
  planWorkerLaunch,
  waitForExit,
} from "@hearth-and-keep/engine-host";
import type { FromWorker, ToWorker } from "../worker/messages.ts";

export type WorkerProcess = {
  readonly pid: number;
  send(message: ToWorker): void;
  kill(): void;
  readonly exited: Promise<ProcessExit>;
};

/** In a clone the worker is TypeScript; in an installed package it is bundled next to the server. */
const program = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("../worker/main.ts", import.meta.url)
    : new URL("./engine/worker/engine-worker.js", import.meta.url),
);

export type WorkerPlan = {
  readonly modelFiles: readonly string[];
  /** Folders to read in addition to the installed program: a local build of the binding. */
  readonly buildFolders: readonly string[];
  readonly usesGpu: boolean;
  readonly limitBytes: number;
  /** Removed when the worker has exited. */
  readonly cgroup: MemoryCgroup | undefined;
  readonly machine: Machine;
};

/** Starts a worker, sandboxed as far as the machine allows, without the server's environment. */
export function startWorker(plan: WorkerPlan, onMessage: (message: FromWorker) => void): WorkerProcess {
  const { modelFiles, buildFolders, usesGpu, limitBytes, cgroup, machine } = plan;
  const launch = planWorkerLaunch(
    {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles,
      programFolders: [...findProgramFolders(program), ...buildFolders],
      usesGpu,
      memory: { limitBytes, ...(cgroup === undefined ? {} : { cgroupProcsPath: cgroup.procsPath }) },
    },
    machine,
  );
  const child = spawn(launch.command, [...launch.args], {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: launch.environment,
  });
  child.on("message", onMessage);
  return {
    pid: child.pid ?? -1,
    // A message to a worker that has just exited is lost; `exited` reports the exit.
    send: (message) => void (child.connected && child.send(message)),
    kill: () => void child.kill("SIGKILL"),
    exited: waitForExit(child, cgroup),
  };
}
