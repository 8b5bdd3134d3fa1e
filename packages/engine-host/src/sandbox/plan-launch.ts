/**
 * @module
 * The sandbox of an engine process: no network, no inherited environment, read access to its own files only, another
 * user and a memory limit. Each protection is applied if the machine supports it; `missingProtections` lists the rest.
 * Imported by the drivers. It knows the paths of model files and nothing else about models.
 */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { GpuDevice } from "./gpu-devices.ts";
import { type Machine, nobodyUserId } from "./machine.ts";

export type LaunchOptions = {
  readonly program: string;
  readonly args: readonly string[];
  /** The complete environment of the process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Variables to set inside the sandbox as well, because bubblewrap clears the environment. */
  readonly sandboxEnvironment?: Readonly<Record<string, string>>;
  /** Files and folders of the program itself, in addition to the system libraries. */
  readonly programPaths: readonly string[];
  /** The model, its adapters and its projector: the only other files it can read. */
  readonly modelFiles: readonly string[];
  /** The only folder it can write to, for the socket it listens on. */
  readonly writableFolder?: string;
  /** Whether it has access to the machine's GPUs. */
  readonly usesGpu?: boolean;
  readonly memory?: MemoryLimit;
  /** Address space that it reserves at startup and never writes; the data limit counts it. */
  readonly reservedBytes?: number;
};

/** Our own worker: a Node program that communicates over an inherited pipe. */
export type WorkerLaunchOptions = Pick<
  LaunchOptions,
  "modelFiles" | "usesGpu" | "memory" | "sandboxEnvironment"
> & {
  readonly nodeProgram: string;
  readonly workerProgram: string;
  /** Folders that the program imports from. */
  readonly programFolders: readonly string[];
};

type MemoryLimit = {
  readonly limitBytes: number;
  /** `cgroup.procs` of the cgroup with this limit, if there is one. */
  readonly cgroupProcsPath?: string;
};

export type LaunchPlan = {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

/** One pool thread, so that decoding always runs on the same thread and its compute threads are reused. */
const workerEnvironment = { UV_THREADPOOL_SIZE: "1" };
const nodeReservedBytes = 640 * 1024 ** 2;
/** Where GPU drivers look for devices and for the libraries to load. */
const gpuInfoPaths = [
  "/sys/bus",
  "/sys/class",
  "/sys/dev",
  "/sys/devices",
  "/etc/vulkan",
  "/usr/share/vulkan",
];

export function planWorkerLaunch(options: WorkerLaunchOptions, machine: Machine): LaunchPlan {
  const { nodeProgram, workerProgram, programFolders, ...rest } = options;
  return planLaunch(
    {
      ...rest,
      program: nodeProgram,
      args: [workerProgram],
      environment: workerEnvironment,
      programPaths: [realpathSync(nodeProgram), ...programFolders],
      reservedBytes: nodeReservedBytes,
    },
    machine,
  );
}

export function planLaunch(options: LaunchOptions, machine: Machine): LaunchPlan {
  const chain = [
    ...cgroupArgs(options.memory),
    ...prlimitArgs(options, machine),
    ...bubblewrapArgs(options, machine),
    options.program,
    ...options.args,
  ];
  const [command = options.program, ...args] = chain;
  return { command, args, environment: options.environment };
}

/** Whether launched processes run as `nobody`: only root can switch users, and only inside bubblewrap. */
export function runsAsNobody({ isRoot, setpriv, bubblewrap }: Machine): boolean {
  return isRoot && setpriv !== undefined && bubblewrap !== undefined;
}

/** The shell enters the cgroup and then becomes the worker, so no process is ever outside it. If it cannot, nothing starts. */
function cgroupArgs(memory: MemoryLimit | undefined): readonly string[] {
  if (memory?.cgroupProcsPath === undefined) return [];
  return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', memory.cgroupProcsPath];
}

function prlimitArgs(options: LaunchOptions, machine: Machine): readonly string[] {
  const { memory, usesGpu = false, reservedBytes = 0 } = options;
  if (machine.prlimit === undefined) return [];
  // The cgroup already limits memory, and GPU drivers reserve more address space than the machine has memory.
  const skipsDataLimit = memory?.cgroupProcsPath !== undefined || (usesGpu && machine.gpuDevices.length > 0);
  const dataLimit =
    memory === undefined || skipsDataLimit ? [] : [`--data=${memory.limitBytes + reservedBytes}`];
  return [machine.prlimit, "--core=0:0", ...dataLimit];
}

function bubblewrapArgs(options: LaunchOptions, machine: Machine): readonly string[] {
  if (machine.bubblewrap === undefined) return [];
  const environment = { ...options.environment, ...options.sandboxEnvironment, HOME: "/tmp" };
  return [
    machine.bubblewrap,
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...(machine.isRoot ? ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] : ["--unshare-user"]),
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--perms",
    "1777",
    "--tmpfs",
    "/tmp",
    ...bindMountArgs(visibleFiles(options, machine), options.writableFolder),
    ...visibleDevices(options, machine).flatMap(({ path }) => ["--dev-bind", path, path]),
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--chdir",
    "/tmp",
    "--",
    ...setprivArgs(options, machine),
  ];
}

function visibleDevices({ usesGpu = false }: LaunchOptions, { gpuDevices }: Machine): readonly GpuDevice[] {
  return usesGpu ? gpuDevices : [];
}

/** System libraries but no programs, so that there is nothing else to execute. */
function visibleFiles(options: LaunchOptions, machine: Machine): readonly string[] {
  const { modelFiles, programPaths } = options;
  const libraries = ["/usr/lib", "/usr/lib64", "/etc/ld.so.cache"].filter((path) => existsSync(path));
  const setpriv = machine.isRoot && machine.setpriv !== undefined ? [machine.setpriv] : [];
  const gpu =
    visibleDevices(options, machine).length === 0 ? [] : gpuInfoPaths.filter((path) => existsSync(path));
  return [...libraries, ...setpriv, ...programPaths, ...modelFiles, ...gpu];
}

/** Creates parent folders first, because bubblewrap would create them accessible to its own user only. */
function bindMountArgs(readable: readonly string[], writable: string | undefined): readonly string[] {
  const writableFolders = writable === undefined ? [] : [writable];
  const parents = new Set(
    [...readable, ...writableFolders].flatMap((path) => listAncestors(dirname(path)).toReversed()),
  );
  parents.delete("/");
  parents.delete("/tmp");
  return [
    ...[...parents].flatMap((folder) => ["--perms", "0755", "--dir", folder]),
    ...readable.flatMap((path) => ["--ro-bind", path, path]),
    ...writableFolders.flatMap((path) => ["--bind", path, path]),
  ];
}

function setprivArgs(options: LaunchOptions, machine: Machine): readonly string[] {
  const { isRoot, setpriv } = machine;
  if (!isRoot || setpriv === undefined) return [];
  // The root group is never passed on: device nodes of that group are accessible either to everyone or to root only.
  const groups = new Set(
    visibleDevices(options, machine).flatMap(({ groupId }) => (groupId === 0 ? [] : [groupId])),
  );
  return [
    setpriv,
    `--reuid=${nobodyUserId}`,
    `--regid=${nobodyUserId}`,
    groups.size === 0 ? "--clear-groups" : `--groups=${[...groups].join(",")}`,
    "--inh-caps=-all",
    "--no-new-privs",
    "--",
  ];
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

function listAncestors(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...listAncestors(parent)];
}
