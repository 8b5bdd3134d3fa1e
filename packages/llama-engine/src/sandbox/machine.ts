import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { totalmem } from "node:os";
import { findGpuDevices, type GpuDevice } from "./gpu-devices.ts";
import { type DelegatedCgroup, findDelegatedCgroup } from "./memory-cgroup.ts";

/** What a machine has to lock a worker in with, and what it has that a worker may need. */
export type Machine = {
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

export function lookAtMachine(): Machine {
  return {
    isRoot: process.getuid?.() === 0,
    bubblewrap: findWorkingBubblewrap(),
    setpriv: findTool("setpriv"),
    prlimit: findTool("prlimit"),
    cgroup: findDelegatedCgroup(),
    gpuDevices: findGpuDevices(),
    memoryBytes: memoryOfMachine(),
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

/** A container's limit counts instead of the machine's memory when it is lower; zero stands for none known. */
function memoryOfMachine(): number {
  const allowed = process.constrainedMemory();
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}
