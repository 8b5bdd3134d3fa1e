import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { type DelegatedCgroup, findDelegatedCgroup } from "../memory/memory-cgroup.ts";
import type { RestrictedPlan } from "../restriction/restricted-plan.ts";
import { findGpuDevices, type GpuDevice, hasSoftwareVulkan } from "./gpu-devices.ts";
import { ownArchitecture } from "./syscall-numbers.ts";

/** The sandboxing tools and the devices of this machine. */
export type Machine = {
  /** Whether the server can start processes as another user. */
  readonly isRoot: boolean;
  /** Paths of the sandboxing tools; undefined if not installed. */
  readonly bubblewrap: string | undefined;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
  /**
   * The program that restricts an engine with Landlock and seccomp; undefined if the kernel lacks them, or if bubblewrap
   * works and it is not needed.
   */
  readonly restrictedStart: string | undefined;
  /** Undefined unless a service manager has delegated a cgroup to the server. */
  readonly cgroup: DelegatedCgroup | undefined;
  readonly gpuDevices: readonly GpuDevice[];
  /** Whether a Vulkan driver that computes on the CPU is installed. */
  readonly hasSoftwareVulkan: boolean;
  readonly memoryBytes: number;
};

/** The user id that sandboxed processes of a root server run as. */
export const nobodyUserId = 65_534;

export function inspectMachine(): Machine {
  const bubblewrap = findWorkingBubblewrap();
  return {
    isRoot: process.getuid?.() === 0 && ["uid_map", "gid_map"].every((map) => isMapped(nobodyUserId, map)),
    bubblewrap,
    setpriv: findTool("setpriv"),
    prlimit: findTool("prlimit"),
    restrictedStart: bubblewrap === undefined ? findRestrictedStart() : undefined,
    cgroup: findDelegatedCgroup(),
    gpuDevices: findGpuDevices(),
    hasSoftwareVulkan: hasSoftwareVulkan(),
    memoryBytes: availableMemory(),
  };
}

/** A container's user namespace may map root alone; a system without these files maps every id. */
function isMapped(id: number, map: string): boolean {
  const path = `/proc/self/${map}`;
  if (!existsSync(path)) return true;
  // Each line: the first id inside, the first id outside, the count.
  const ranges = readFileSync(path, "utf8").matchAll(/^\s*(\d+)\s+\d+\s+(\d+)$/gmu);
  return [...ranges].some(([, first, count]) => id >= Number(first) && id < Number(first) + Number(count));
}

function findTool(name: string): string | undefined {
  return [`/usr/bin/${name}`, `/bin/${name}`].find((path) => existsSync(path));
}

/** In some containers bubblewrap is installed but not permitted to create namespaces; it then counts as missing. */
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
    "--size",
    "65536",
    "--tmpfs",
    "/tmp",
    // A program that certainly exists.
    path,
    "--version",
  ];
  return spawnSync(path, trial, { stdio: "ignore", timeout: 5000 }).status === 0 ? path : undefined;
}

/** In a clone it is TypeScript; in an installed package it is bundled next to the worker. */
const restrictedProgram = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("../restriction/run-restricted.ts", import.meta.url)
    : new URL("./engine/worker/run-restricted.js", import.meta.url),
);

/** Tries it, because a kernel can lack Landlock and a container can forbid the calls. */
export function findRestrictedStart(): string | undefined {
  const architecture = ownArchitecture();
  if (process.platform !== "linux" || architecture === undefined) return undefined;
  const plan: RestrictedPlan = {
    program: process.execPath,
    args: ["--version"],
    environment: {},
    readablePaths: ["/"],
    executablePaths: ["/"],
    devices: [],
    descriptors: [0, 1, 2],
    filter: { architecture, allowsUnixSockets: false },
  };
  const trial = [restrictedProgram, JSON.stringify(plan)];
  const { status } = spawnSync(process.execPath, trial, { stdio: "ignore", env: {}, timeout: 5000 });
  return status === 0 ? restrictedProgram : undefined;
}

/** The machine's memory, or the container's limit if that is lower; `constrainedMemory` is 0 without one. */
function availableMemory(): number {
  const allowed = process.constrainedMemory();
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}
