/**
 * @module
 * The sandbox of an engine process: no network, no inherited environment, read access to its own files only, no new
 * processes, another user and a memory limit. Each protection is applied if the machine supports it;
 * `missingProtections` lists the rest. Imported by the drivers. It knows the paths of model files and nothing else
 * about models.
 */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { bubblewrapArgs, setprivArgs } from "./bubblewrap-args.ts";
import type { LaunchOptions, MemoryLimit } from "./launch-options.ts";
import type { Machine } from "./machine.ts";
import { rejectRoot, rejectUnreadable } from "./reject-root.ts";
import { restrictedArgs } from "./restricted-args.ts";
import { buildSeccompFilter, type SeccompOptions } from "./seccomp-filter.ts";
import { ownArchitecture } from "./syscall-numbers.ts";
import { listAncestors, seesGpu } from "./visible-files.ts";

/** Our own worker: a Node program that communicates over an inherited pipe. */
export type WorkerLaunchOptions = Pick<
  LaunchOptions,
  "modelFiles" | "usesGpu" | "memory" | "sandboxEnvironment" | "sharedFile"
> & {
  readonly nodeProgram: string;
  readonly workerProgram: string;
  /** Folders that the program imports from. */
  readonly programFolders: readonly string[];
  /** How many JavaScript threads it starts beside the main one. */
  readonly threads?: number;
  /** Which GPUs it uses, as variables of their drivers. */
  readonly gpuEnvironment?: Readonly<Record<string, string>>;
};

export type LaunchPlan = {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** What bubblewrap reads from `filterDescriptor`. */
  readonly seccompFilter?: Buffer;
  /** The server's descriptor of the file that the process inherits as `sharedFileDescriptor`. */
  readonly sharedDescriptor?: number;
};

/** One pool thread, so that decoding always runs on the same thread and its compute threads are reused. */
const workerEnvironment = { UV_THREADPOOL_SIZE: "1" };
const workerChannelDescriptor = 3;
/** Address space that each JavaScript thread reserves and does not use. */
const reservedBytesPerThread = 640 * 1024 ** 2;

export function planWorkerLaunch(options: WorkerLaunchOptions, machine: Machine): LaunchPlan {
  const { nodeProgram, workerProgram, programFolders, threads = 0, gpuEnvironment = {}, ...rest } = options;
  return planLaunch(
    {
      ...rest,
      program: realpathSync(nodeProgram),
      args: [workerProgram],
      environment: { ...workerEnvironment, ...gpuEnvironment },
      programPaths: [realpathSync(nodeProgram), ...programFolders],
      channelDescriptor: workerChannelDescriptor,
      reservedBytes: (1 + threads) * reservedBytesPerThread,
    },
    machine,
  );
}

/** Throws a failure if the engine would run as root. */
export function planLaunch(options: LaunchOptions, machine: Machine): LaunchPlan {
  rejectRoot(machine);
  const limits = [...cgroupArgs(options.memory), ...prlimitArgs(options, machine)];
  const { environment, sharedFile } = options;
  const shared = sharedFile === undefined ? {} : { sharedDescriptor: sharedFile.descriptor };
  const filter = filterOptions(options);
  const engine = [options.program, ...options.args];
  if (machine.bubblewrap !== undefined) {
    const context = { machine, hasFilter: filter !== undefined };
    const chain = [...limits, ...bubblewrapArgs(machine.bubblewrap, options, context), ...engine];
    const seccompFilter = filter === undefined ? {} : { seccompFilter: buildSeccompFilter(filter) };
    return { ...splitCommand(chain), environment, ...seccompFilter, ...shared };
  }
  rejectUnreadable(options, machine);
  const restricted =
    machine.restrictedStart === undefined || filter === undefined
      ? [...setprivArgs(options, machine), ...engine]
      : restrictedArgs(machine.restrictedStart, options, { machine, filter });
  return { ...splitCommand([...limits, ...restricted]), environment, ...shared };
}

function splitCommand([command = "", ...args]: readonly string[]): Pick<LaunchPlan, "command" | "args"> {
  return { command, args };
}

function filterOptions({ writableFolder }: LaunchOptions): SeccompOptions | undefined {
  const architecture = ownArchitecture();
  if (architecture === undefined) return undefined;
  return { architecture, allowsUnixSockets: writableFolder !== undefined };
}

/** The shell enters the cgroup and then becomes the worker, so no process is ever outside it. If it cannot, nothing starts. */
function cgroupArgs(memory: MemoryLimit | undefined): readonly string[] {
  if (memory?.cgroupProcsPath === undefined) return [];
  return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', memory.cgroupProcsPath];
}

function prlimitArgs(options: LaunchOptions, machine: Machine): readonly string[] {
  const { memory, reservedBytes = 0, sharedFile } = options;
  if (machine.prlimit === undefined) return [];
  const onGpu = seesGpu(options, machine);
  // The cgroup already limits memory, and GPU drivers reserve more address space than the machine has memory.
  const skipsDataLimit = memory?.cgroupProcsPath !== undefined || onGpu;
  const dataLimit =
    memory === undefined || skipsDataLimit ? [] : [`--data=${memory.limitBytes + reservedBytes}`];
  const fileBytes = sharedFile?.maxBytes ?? 0;
  // GPU drivers write the code they compile.
  const fileLimit = onGpu ? [] : [`--fsize=${fileBytes}:${fileBytes}`];
  return [machine.prlimit, "--core=0:0", ...fileLimit, ...dataLimit];
}

/** The folders that a program imports from: its own package tree and the installed packages. */
export function findProgramFolders(workerProgram: string): readonly string[] {
  const own = dirname(workerProgram);
  const above = listAncestors(own);
  const installed = above
    .map((folder) => join(folder, "node_modules"))
    .filter((folder) => existsSync(folder));
  // In an installed package all our files are in one folder, two levels above the worker.
  if (!workerProgram.endsWith(".ts")) return [dirname(dirname(own)), ...installed];
  // In a clone, packages import each other through links in node_modules.
  const workspace = above.find((folder) => existsSync(join(folder, "package-lock.json")));
  return [workspace === undefined ? own : join(workspace, "packages"), ...installed];
}
