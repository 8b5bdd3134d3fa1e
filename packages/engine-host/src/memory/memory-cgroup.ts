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

/** A folder of the cgroup file system in which we may make one for each worker. */
export type DelegatedCgroup = { readonly version: 1 | 2; readonly folder: string };

export type MemoryCgroup = {
  /** What a launcher writes its process id into, so that everything it starts is counted. */
  readonly entrance: string;
  /** Whether the kernel ended something in it for want of memory. */
  ranOut(): boolean;
  remove(): Promise<void>;
};

/**
 * Only a server whose own cgroup has this name makes others beside it: a service manager that starts it so
 * (in systemd: Delegate=memory, DelegateSubgroup=hearth-server) gives the folder above away. Being able to write
 * somewhere, as root always is, does not make a folder ours.
 */
const ownName = "hearth-server";
const workerName = /^hearth-worker-(\d+)-\d+$/u;
const files = {
  1: { limit: "memory.limit_in_bytes", deaths: "memory.oom_control" },
  2: { limit: "memory.max", deaths: "memory.events" },
} as const;
let made = 0;

export function findDelegatedCgroup(
  own: string = readOrEmpty("/proc/self/cgroup"),
  root = "/sys/fs/cgroup",
): DelegatedCgroup | undefined {
  for (const line of own.split("\n")) {
    const [, controllers, path = ""] = /^\d+:([^:]*):(.*)$/u.exec(line) ?? [];
    if (basename(path) !== ownName) continue;
    const version = controllers === "" ? 2 : 1;
    if (version === 1 && !controllers?.split(",").includes("memory")) continue;
    const folder = join(root, version === 2 ? "" : "memory", dirname(path));
    if (isWritable(folder) && (version === 1 || countsMemory(folder))) return { version, folder };
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

/** Version 2 gives a controller to the folders below only when told. */
function countsMemory(folder: string): boolean {
  const control = join(folder, "cgroup.subtree_control");
  if (readOrEmpty(control).split(/\s+/u).includes("memory")) return true;
  try {
    writeFileSync(control, "+memory");
    return true;
  } catch {
    return false;
  }
}

/** Makes a cgroup for one worker; throws when the folder above is not writable after all. */
export function openMemoryCgroup({ version, folder }: DelegatedCgroup, limitBytes: number): MemoryCgroup {
  const own = join(folder, `hearth-worker-${process.pid}-${++made}`);
  mkdirSync(own);
  writeFileSync(join(own, files[version].limit), String(limitBytes));
  // Otherwise a worker over its limit is swapped out and drags the machine down instead of ending.
  if (version === 2 && existsSync(join(own, "memory.swap.max"))) {
    writeFileSync(join(own, "memory.swap.max"), "0");
  }
  return {
    entrance: join(own, "cgroup.procs"),
    ranOut: () => /^oom_kill [1-9]/mu.test(readOrEmpty(join(own, files[version].deaths))),
    remove: () => removeWhenEmpty(own),
  };
}

/** The kernel refuses while the last processes in it are still ending. */
async function removeWhenEmpty(folder: string): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    if (removed(folder)) return;
    await sleep(50);
  }
}

function removed(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return !existsSync(folder);
  }
}

/** Removes what servers that were killed left behind. */
export function removeStaleCgroups({ folder }: DelegatedCgroup): void {
  for (const name of readdirSync(folder)) {
    const server = workerName.exec(name)?.[1];
    if (server !== undefined && !existsSync(`/proc/${server}`)) removed(join(folder, name));
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
