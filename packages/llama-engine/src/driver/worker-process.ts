import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import type { Machine, MemoryCgroup, SharedFile } from "@hearth-and-keep/engine-host";
import {
  findProgramFolders,
  killLaunch,
  type ProcessExit,
  planWorkerLaunch,
  spawnLaunch,
  waitForExit,
} from "@hearth-and-keep/engine-host";
import { channelDescriptor, writeFrame } from "../channel/frames.ts";
import type { ToWorker } from "../channel/messages.ts";
import { type MessageHandlers, receiveMessages } from "../channel/receive-messages.ts";

export type WorkerProcess = {
  readonly pid: number;
  send(message: ToWorker): void;
  kill(): void;
  readonly exited: Promise<ProcessExit>;
};

/** One for the model's own templates, one for templates and grammars of clients. */
const preparationThreads = 2;

/** In a clone the worker is TypeScript; in an installed package it is bundled next to the server. */
export const defaultWorkerProgram: string = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("../worker/main.ts", import.meta.url)
    : new URL("./engine/worker/engine-worker.js", import.meta.url),
);

export type WorkerPlan = {
  readonly program: string;
  readonly modelFiles: readonly string[];
  /** Folders to read in addition to the installed program: a local build of the binding. */
  readonly buildFolders: readonly string[];
  readonly usesGpu: boolean;
  /** Selects the GPUs. */
  readonly gpuEnvironment: Readonly<Record<string, string>>;
  readonly limitBytes: number;
  /** Removed when the worker has exited. */
  readonly cgroup: MemoryCgroup | undefined;
  readonly machine: Machine;
  /** Through which the worker exchanges the states of prompts. */
  readonly sharedFile: SharedFile | undefined;
};

/** Starts a worker, sandboxed as far as the machine allows, without the server's environment. */
export function startWorker(plan: WorkerPlan, handlers: MessageHandlers): WorkerProcess {
  const {
    program,
    modelFiles,
    buildFolders,
    usesGpu,
    gpuEnvironment,
    limitBytes,
    cgroup,
    machine,
    sharedFile,
  } = plan;
  const launch = planWorkerLaunch(
    {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles,
      programFolders: [...findProgramFolders(program), ...buildFolders],
      usesGpu,
      ...(sharedFile === undefined ? {} : { sharedFile }),
      gpuEnvironment,
      threads: preparationThreads,
      memory: { limitBytes, ...(cgroup === undefined ? {} : { cgroupProcsPath: cgroup.procsPath }) },
    },
    machine,
  );
  const child = spawnLaunch(launch, ["ignore", "ignore", "ignore", "pipe"]);
  // "pipe" makes it a socket that both sides read and write.
  const channel = child.stdio[channelDescriptor] as Duplex;
  receiveMessages(channel, handlers);
  return {
    pid: child.pid ?? -1,
    // A message to a worker that has just exited is lost; `exited` reports the exit.
    send: (message) => {
      if (channel.writable) writeFrame(channel, serialize(message));
    },
    kill: () => killLaunch(child),
    exited: waitForExit(child, cgroup),
  };
}
