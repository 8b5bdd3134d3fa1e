/**
 * @module
 * How a worker is locked in: which files it sees, that it has no network and no environment, under which user it
 * runs, how much memory it may take. Each protection is used where the machine has what it needs, and named where
 * it is missing, so that nobody believes in a wall that is not there.
 * Imported by the driver; it knows nothing of models beyond the paths of their files.
 */
import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

export type LaunchWish = {
  readonly nodeProgram: string;
  readonly workerProgram: string;
  /** Files of the model, its adapters and its projector; the only ones outside the program that it may read. */
  readonly modelFiles: readonly string[];
  /** Folders the program itself is read from. */
  readonly programFolders: readonly string[];
};

export type LaunchPlan = {
  readonly command: string;
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** One plain sentence for each protection this machine lacks. */
  readonly missing: readonly string[];
};

export type Machine = {
  readonly isRoot: boolean;
  /** Paths of the programs that lock in; undefined where they are not installed. */
  readonly bubblewrap: string | undefined;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
};

/** One pool thread: decoding then always runs on the same thread, whose compute threads are reused. */
const workerEnvironment = { UV_THREADPOOL_SIZE: "1" };
/** What Node puts into a child's environment to find the channel; a cleared environment needs it again. */
const channelEnvironment = { NODE_CHANNEL_FD: "3", NODE_CHANNEL_SERIALIZATION_MODE: "advanced" };
const nobody = "65534";

export function lookAtMachine(): Machine {
  return {
    isRoot: process.getuid?.() === 0,
    bubblewrap: findWorkingBubblewrap(),
    setpriv: findTool("setpriv"),
    prlimit: findTool("prlimit"),
  };
}

function findTool(name: string): string | undefined {
  return [`/usr/bin/${name}`, `/bin/${name}`].find((path) => existsSync(path));
}

/** Inside some containers it is installed but not allowed to do anything; then it counts as missing. */
function findWorkingBubblewrap(): string | undefined {
  const path = findTool("bwrap");
  if (path === undefined) return undefined;
  const trial = [
    "--unshare-net",
    "--unshare-pid",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "true",
  ];
  return spawnSync(path, trial, { stdio: "ignore", timeout: 5000 }).status === 0 ? path : undefined;
}

export function planLaunch(wish: LaunchWish, machine: Machine): LaunchPlan {
  const chain = [...coreDumpsOff(machine), ...walls(wish, machine), wish.nodeProgram, wish.workerProgram];
  const [command = wish.nodeProgram, ...words] = chain;
  return { command, words, environment: workerEnvironment, missing: missingProtections(machine) };
}

function coreDumpsOff({ prlimit }: Machine): readonly string[] {
  return prlimit === undefined ? [] : [prlimit, "--core=0:0"];
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
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--chdir",
    "/tmp",
    "--",
    ...otherUser(machine),
  ];
}

/** Libraries but no programs: apart from Node itself there is nothing to execute. */
function visibleFiles(
  { nodeProgram, modelFiles, programFolders }: LaunchWish,
  machine: Machine,
): readonly string[] {
  const libraries = ["/usr/lib", "/usr/lib64", "/etc/ld.so.cache"].filter((path) => existsSync(path));
  const setpriv = machine.isRoot && machine.setpriv !== undefined ? [machine.setpriv] : [];
  return [...libraries, ...setpriv, realpathSync(nodeProgram), ...programFolders, ...modelFiles];
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

function otherUser({ isRoot, setpriv }: Machine): readonly string[] {
  if (!isRoot || setpriv === undefined) return [];
  return [
    setpriv,
    `--reuid=${nobody}`,
    `--regid=${nobody}`,
    "--clear-groups",
    "--inh-caps=-all",
    "--no-new-privs",
    "--",
  ];
}

function missingProtections({ isRoot, bubblewrap, setpriv, prlimit }: Machine): readonly string[] {
  return [
    ...(bubblewrap === undefined
      ? ["The worker can read files and use the network: install bubblewrap, or allow it, to lock it in"]
      : []),
    ...(isRoot && (bubblewrap === undefined || setpriv === undefined)
      ? ["The worker runs as root: install bubblewrap and setpriv, or start the server as another user"]
      : []),
    ...(isRoot
      ? []
      : ["The worker runs as the same user as the server: only root can give it one of its own"]),
    ...(prlimit === undefined ? ["A crash of the worker may leave a core dump: install prlimit"] : []),
  ];
}

/** The folders a program at this path imports from: its own package tree and the installed packages. */
export function foldersOfProgram(workerProgram: string): readonly string[] {
  const own = dirname(workerProgram);
  const above = ancestorsOf(own);
  const installed = above
    .map((folder) => join(folder, "node_modules"))
    .filter((folder) => existsSync(folder));
  // In a clone the packages refer to each other through links in node_modules.
  const workspace = above.find((folder) => existsSync(join(folder, "package-lock.json")));
  return [workspace === undefined ? own : join(workspace, "packages"), ...installed];
}

function ancestorsOf(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...ancestorsOf(parent)];
}
