import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { GpuDevice } from "./gpu-devices.ts";
import type { LaunchOptions } from "./launch-options.ts";
import type { Machine } from "./machine.ts";

/** Where GPU drivers look for devices and for the libraries to load. */
const gpuInfoPaths = [
  "/sys/bus",
  "/sys/class",
  "/sys/dev",
  "/sys/devices",
  "/etc/vulkan",
  "/usr/share/vulkan",
];

/** System libraries but no programs, so that there is nothing else to execute. */
export function visibleFiles(options: LaunchOptions, machine: Machine): readonly string[] {
  const libraries = ["/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];
  const gpu = visibleDevices(options, machine).length === 0 ? [] : gpuInfoPaths;
  return [
    ...[...libraries, ...gpu].filter((path) => existsSync(path)),
    ...options.programPaths,
    ...options.modelFiles,
  ];
}

export function visibleDevices(
  { usesGpu = false }: LaunchOptions,
  { gpuDevices }: Machine,
): readonly GpuDevice[] {
  return usesGpu ? gpuDevices : [];
}

/**
 * The groups that an unprivileged process needs for its devices. Never the root group: device nodes of that group are
 * accessible either to everyone or to root only.
 */
export function deviceGroups(options: LaunchOptions, machine: Machine): readonly number[] {
  const groups = visibleDevices(options, machine).map(({ groupId }) => groupId);
  return [...new Set(groups)].filter((id) => id !== 0);
}

/** The folder itself and everything above it, innermost first. */
export function listAncestors(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...listAncestors(parent)];
}
