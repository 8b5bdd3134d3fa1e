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
import { type Machine, nobody } from "./machine.ts";

export type LaunchWish = {
  readonly program: string;
  readonly words: readonly string[];
  /** All that is in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** What a cleared environment needs again, because the launcher's own does not reach through the walls. */
  readonly environmentInside?: Readonly<Record<string, string>>;
  /** Files and folders the program itself is read from, beside the machine's libraries. */
  readonly programPlaces: readonly string[];
  /** Files of the model, its adapters and its projector; the only ones outside the program that it may read. */
  readonly modelFiles: readonly string[];
  /** The one folder outside that it may write in, for the socket it listens on. */
  readonly writableFolder?: string;
  /** Whether it may speak to the machine's GPUs. */
  readonly usesGpu?: boolean;
  readonly memory?: MemoryWish;
  /** Private addresses it reserves at start and never writes; the data limit counts them. */
  readonly reservedBytes?: number;
};

/** A worker of our own: Node with one program, spoken to over the channel between parent and child. */
export type WorkerWish = Pick<LaunchWish, "modelFiles" | "usesGpu" | "memory"> & {
  readonly nodeProgram: string;
  readonly workerProgram: string;
  /** Folders the program itself is read from. */
  readonly programFolders: readonly string[];
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

export function planWorkerLaunch(wish: WorkerWish, machine: Machine): LaunchPlan {
  const { nodeProgram, workerProgram, programFolders, ...others } = wish;
  return planLaunch(
    {
      ...others,
      program: nodeProgram,
      words: [workerProgram],
      environment: workerEnvironment,
      environmentInside: channelEnvironment,
      programPlaces: [realpathSync(nodeProgram), ...programFolders],
      reservedBytes: nodeReservedBytes,
    },
    machine,
  );
}

export function planLaunch(wish: LaunchWish, machine: Machine): LaunchPlan {
  const chain = [
    ...enterCgroup(wish.memory),
    ...processLimits(wish, machine),
    ...walls(wish, machine),
    wish.program,
    ...wish.words,
  ];
  const [command = wish.program, ...words] = chain;
  return { command, words, environment: wish.environment };
}

/** Whether what is launched runs as `nobody`: only root can give it another user, and only behind the walls. */
export function runsAsOtherUser({ isRoot, setpriv, bubblewrap }: Machine): boolean {
  return isRoot && setpriv !== undefined && bubblewrap !== undefined;
}

/** It enters before it becomes the worker, so that no child is ever outside; where it cannot, nothing starts. */
function enterCgroup(memory: MemoryWish | undefined): readonly string[] {
  if (memory?.cgroupEntrance === undefined) return [];
  return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', memory.cgroupEntrance];
}

function processLimits(wish: LaunchWish, machine: Machine): readonly string[] {
  const { memory, usesGpu = false, reservedBytes = 0 } = wish;
  if (machine.prlimit === undefined) return [];
  // A GPU's driver reserves more private addresses than there is memory, and they would count.
  const isCounted = memory?.cgroupEntrance !== undefined || (usesGpu && machine.gpuDevices.length > 0);
  const dataLimit = memory === undefined || isCounted ? [] : [`--data=${memory.limitBytes + reservedBytes}`];
  return [machine.prlimit, "--core=0:0", ...dataLimit];
}

function walls(wish: LaunchWish, machine: Machine): readonly string[] {
  if (machine.bubblewrap === undefined) return [];
  const environment = { ...wish.environment, ...wish.environmentInside, HOME: "/tmp" };
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
    ...show(visibleFiles(wish, machine), wish.writableFolder),
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

/** Libraries but no programs: apart from the one that runs there is nothing to execute. */
function visibleFiles(wish: LaunchWish, machine: Machine): readonly string[] {
  const { modelFiles, programPlaces } = wish;
  const libraries = ["/usr/lib", "/usr/lib64", "/etc/ld.so.cache"].filter((path) => existsSync(path));
  const setpriv = machine.isRoot && machine.setpriv !== undefined ? [machine.setpriv] : [];
  const gpu = devicesOf(wish, machine).length === 0 ? [] : gpuDescriptions.filter((path) => existsSync(path));
  return [...libraries, ...setpriv, ...programPlaces, ...modelFiles, ...gpu];
}

/** Folders on the way are made first, because bubblewrap would make them for its own user only. */
function show(readable: readonly string[], writable: string | undefined): readonly string[] {
  const written = writable === undefined ? [] : [writable];
  const onTheWay = new Set(
    [...readable, ...written].flatMap((path) => ancestorsOf(dirname(path)).toReversed()),
  );
  onTheWay.delete("/");
  onTheWay.delete("/tmp");
  return [
    ...[...onTheWay].flatMap((folder) => ["--perms", "0755", "--dir", folder]),
    ...readable.flatMap((path) => ["--ro-bind", path, path]),
    ...written.flatMap((path) => ["--bind", path, path]),
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
