import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A cgroup delegated to the server, in which it creates one child cgroup per worker. */
export type DelegatedCgroup = { readonly version: 1 | 2; readonly folder: string };

export type MemoryCgroup = {
  /** The `cgroup.procs` file: a launcher writes its process id to it before it starts anything. */
  readonly procsPath: string;
  /** Whether the kernel's OOM killer has killed a process in it. */
  wasOomKilled(): boolean;
  remove(): Promise<void>;
};

/**
 * The server creates sibling cgroups only if its own cgroup has this name, which is how a service manager delegates the
 * parent (in systemd: Delegate=memory, DelegateSubgroup=hearth-server). Write access alone does not count: root has it
 * everywhere.
 */
const serverCgroupName = "hearth-server";
const workerName = /^hearth-worker-(\d+)-\d+$/u;
const files = {
  1: { limit: "memory.limit_in_bytes", oomEvents: "memory.oom_control" },
  2: { limit: "memory.max", oomEvents: "memory.events" },
} as const;
let created = 0;

export function findDelegatedCgroup(
  ownCgroups: string = readOrEmpty("/proc/self/cgroup"),
  root = "/sys/fs/cgroup",
): DelegatedCgroup | undefined {
  for (const line of ownCgroups.split("\n")) {
    const [, controllers, path = ""] = /^\d+:([^:]*):(.*)$/u.exec(line) ?? [];
    if (basename(path) !== serverCgroupName) continue;
    const version = controllers === "" ? 2 : 1;
    if (version === 1 && !controllers?.split(",").includes("memory")) continue;
    const folder = join(root, version === 2 ? "" : "memory", dirname(path));
    if (isWritable(folder) && (version === 1 || enableMemoryController(folder))) return { version, folder };
  }
  return undefined;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** In version 2, children have a controller only if `cgroup.subtree_control` lists it. */
function enableMemoryController(folder: string): boolean {
  const control = join(folder, "cgroup.subtree_control");
  if (readOrEmpty(control).split(/\s+/u).includes("memory")) return true;
  try {
    writeFileSync(control, "+memory");
    return true;
  } catch {
    return false;
  }
}

/** Creates a cgroup for one worker; throws if the delegated cgroup is not writable. */
export function createMemoryCgroup({ version, folder }: DelegatedCgroup, limitBytes: number): MemoryCgroup {
  const own = join(folder, `hearth-worker-${process.pid}-${++created}`);
  mkdirSync(own);
  writeFileSync(join(own, files[version].limit), String(limitBytes));
  // Without this, a worker over its limit swaps and slows the whole machine down instead of being killed.
  if (version === 2 && existsSync(join(own, "memory.swap.max"))) {
    writeFileSync(join(own, "memory.swap.max"), "0");
  }
  return {
    procsPath: join(own, "cgroup.procs"),
    wasOomKilled: () => /^oom_kill [1-9]/mu.test(readOrEmpty(join(own, files[version].oomEvents))),
    remove: () => removeWhenEmpty(own),
  };
}

/** The kernel refuses while the last processes in it are still exiting. */
async function removeWhenEmpty(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    if (tryRemove(folder)) return;
    await sleep(50);
  }
}

function tryRemove(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return !existsSync(folder);
  }
}

/** Removes cgroups left behind by servers that were killed. */
export function removeStaleCgroups({ folder }: DelegatedCgroup): void {
  for (const name of readdirSync(folder)) {
    const server = workerName.exec(name)?.[1];
    if (server !== undefined && !existsSync(`/proc/${server}`)) tryRemove(join(folder, name));
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
