/**
 * @module
 * How a worker is locked in: which files it sees, that it has no network and no environment, under which user it
 * runs, how much memory it may take. Each protection is used where the machine has what it needs, and named where
 * it is missing, so that nobody believes in a wall that is not there.
 * Imported by the driver; it knows nothing of models beyond the paths of their files.
 */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { GpuDevice } from "./gpu-devices.ts";
import type { Machine } from "./machine.ts";

export type LaunchWish = {
  readonly nodeProgram: string;
  readonly workerProgram: string;
  /** Files of the model, its adapters and its projector; the only ones outside the program that it may read. */
  readonly modelFiles: readonly string[];
  /** Folders the program itself is read from. */
  readonly programFolders: readonly string[];
  /** Whether it may speak to the machine's GPUs. */
  readonly usesGpu?: boolean;
  readonly memory?: MemoryWish;
};

type MemoryWish = {
  readonly limitBytes: number;
  /** The file that takes a process into the cgroup with this limit, where one was made. */
  readonly cgroupEntrance?: string;
};

export type LaunchPlan = {
  readonly command: string;
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

/** One pool thread: decoding then always runs on the same thread, whose compute threads are reused. */
const workerEnvironment = { UV_THREADPOOL_SIZE: "1" };
/** What Node puts into a child's environment to find the channel; a cleared environment needs it again. */
const channelEnvironment = { NODE_CHANNEL_FD: "3", NODE_CHANNEL_SERIALIZATION_MODE: "advanced" };
const nobody = "65534";
/** Private addresses Node reserves at start for code it never writes; the data limit counts them. */
const nodeReservedBytes = 640 * 1024 ** 2;
/** Where drivers of GPUs look for what is there, and which library to load for it. */
const gpuDescriptions = [
  "/sys/bus",
  "/sys/class",
  "/sys/dev",
  "/sys/devices",
  "/etc/vulkan",
  "/usr/share/vulkan",
];

export function planLaunch(wish: LaunchWish, machine: Machine): LaunchPlan {
  const chain = [
    ...enterCgroup(wish.memory),
    ...processLimits(wish, machine),
    ...walls(wish, machine),
    wish.nodeProgram,
    wish.workerProgram,
  ];
  const [command = wish.nodeProgram, ...words] = chain;
  return { command, words, environment: workerEnvironment };
}

/** It enters before it becomes the worker, so that no child is ever outside; where it cannot, nothing starts. */
function enterCgroup(memory: MemoryWish | undefined): readonly string[] {
  if (memory?.cgroupEntrance === undefined) return [];
  return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', memory.cgroupEntrance];
}

function processLimits({ memory, usesGpu = false }: LaunchWish, machine: Machine): readonly string[] {
  if (machine.prlimit === undefined) return [];
  // A GPU's driver reserves more private addresses than there is memory, and they would count.
  const isCounted = memory?.cgroupEntrance !== undefined || (usesGpu && machine.gpuDevices.length > 0);
  const dataLimit =
    memory === undefined || isCounted ? [] : [`--data=${memory.limitBytes + nodeReservedBytes}`];
  return [machine.prlimit, "--core=0:0", ...dataLimit];
}

function walls(wish: LaunchWish, machine: Machine): readonly string[] {
  if (machine.bubblewrap === undefined) return [];
  const environment = { ...workerEnvironment, ...channelEnvironment, HOME: "/tmp" };
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
    ...showReadOnly(visibleFiles(wish, machine)),
    ...devicesOf(wish, machine).flatMap(({ path }) => ["--dev-bind", path, path]),
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--chdir",
    "/tmp",
    "--",
    ...otherUser(wish, machine),
  ];
}

function devicesOf({ usesGpu = false }: LaunchWish, { gpuDevices }: Machine): readonly GpuDevice[] {
  return usesGpu ? gpuDevices : [];
}

/** Libraries but no programs: apart from Node itself there is nothing to execute. */
function visibleFiles(wish: LaunchWish, machine: Machine): readonly string[] {
  const { nodeProgram, modelFiles, programFolders } = wish;
  const libraries = ["/usr/lib", "/usr/lib64", "/etc/ld.so.cache"].filter((path) => existsSync(path));
  const setpriv = machine.isRoot && machine.setpriv !== undefined ? [machine.setpriv] : [];
  const gpu = devicesOf(wish, machine).length === 0 ? [] : gpuDescriptions.filter((path) => existsSync(path));
  return [...libraries, ...setpriv, realpathSync(nodeProgram), ...programFolders, ...modelFiles, ...gpu];
}

/** Folders on the way are made first, because bubblewrap would make them for its own user only. */
function showReadOnly(paths: readonly string[]): readonly string[] {
  const onTheWay = new Set(paths.flatMap((path) => ancestorsOf(dirname(path)).toReversed()));
  onTheWay.delete("/");
  onTheWay.delete("/tmp");
  return [
    ...[...onTheWay].flatMap((folder) => ["--perms", "0755", "--dir", folder]),
    ...paths.flatMap((path) => ["--ro-bind", path, path]),
  ];
}

function otherUser(wish: LaunchWish, machine: Machine): readonly string[] {
  const { isRoot, setpriv } = machine;
  if (!isRoot || setpriv === undefined) return [];
  // Nodes of root's own group are open to all or to none; the group itself is never handed out.
  const groups = new Set(devicesOf(wish, machine).flatMap(({ groupId }) => (groupId === 0 ? [] : [groupId])));
  return [
    setpriv,
    `--reuid=${nobody}`,
    `--regid=${nobody}`,
    groups.size === 0 ? "--clear-groups" : `--groups=${[...groups].join(",")}`,
    "--inh-caps=-all",
    "--no-new-privs",
    "--",
  ];
}

/** The folders a program at this path imports from: its own package tree and the installed packages. */
export function foldersOfProgram(workerProgram: string): readonly string[] {
  const own = dirname(workerProgram);
  const above = ancestorsOf(own);
  const installed = above
    .map((folder) => join(folder, "node_modules"))
    .filter((folder) => existsSync(folder));
  // In an installed program everything of ours lies in one folder, two above the worker.
  if (!workerProgram.endsWith(".ts")) return [dirname(dirname(own)), ...installed];
  // In a clone the packages refer to each other through links in node_modules.
  const workspace = above.find((folder) => existsSync(join(folder, "package-lock.json")));
  return [workspace === undefined ? own : join(workspace, "packages"), ...installed];
}

function ancestorsOf(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...ancestorsOf(parent)];
}
