import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { type DelegatedCgroup, findDelegatedCgroup } from "../memory/memory-cgroup.ts";
import { findGpuDevices, type GpuDevice } from "./gpu-devices.ts";

/** What a machine has to lock a worker in with, and what it has that a worker may need. */
export type Machine = {
  /** It can give what it starts another user. */
  readonly isRoot: boolean;
  /** Paths of the programs that lock in; undefined where they are not installed. */
  readonly bubblewrap: string | undefined;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
  /** Undefined unless whoever started the server gave it a cgroup to divide. */
  readonly cgroup: DelegatedCgroup | undefined;
  readonly gpuDevices: readonly GpuDevice[];
  readonly memoryBytes: number;
};

/** The user that a root server gives to what it locks in. */
export const nobody = 65_534;

export function lookAtMachine(): Machine {
  return {
    isRoot: process.getuid?.() === 0 && ["uid_map", "gid_map"].every((map) => knows(nobody, map)),
    bubblewrap: findWorkingBubblewrap(),
    setpriv: findTool("setpriv"),
    prlimit: findTool("prlimit"),
    cgroup: findDelegatedCgroup(),
    gpuDevices: findGpuDevices(),
    memoryBytes: memoryOfMachine(),
  };
}

/** Root of a container may have no users but itself; a system without such maps has them all. */
function knows(id: number, map: string): boolean {
  const path = `/proc/self/${map}`;
  if (!existsSync(path)) return true;
  // Each line: the first number inside, the first outside, how many.
  const ranges = readFileSync(path, "utf8").matchAll(/^\s*(\d+)\s+\d+\s+(\d+)$/gmu);
  return [...ranges].some(([, first, count]) => id >= Number(first) && id < Number(first) + Number(count));
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

/** A container's limit counts instead of the machine's memory when it is lower; zero stands for none known. */
function memoryOfMachine(): number {
  const allowed = process.constrainedMemory();
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}
