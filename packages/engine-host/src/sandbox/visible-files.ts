import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { type GpuDevice, vulkanFolders } from "./gpu-devices.ts";
import type { LaunchOptions } from "./launch-options.ts";
import type { Machine } from "./machine.ts";

/** Where GPU drivers look for devices. */
const devicePaths = ["/sys/bus", "/sys/class", "/sys/dev", "/sys/devices"];
/** Which libraries the Vulkan loader loads, and what Mesa's drivers read. */
const driverPaths = [...vulkanFolders, "/usr/share/drirc.d"];

/** System libraries but no programs, so that there is nothing else to execute. */
export function visibleFiles(options: LaunchOptions, machine: Machine): readonly string[] {
  const libraries = ["/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];
  const devices = visibleDevices(options, machine).length === 0 ? [] : devicePaths;
  const gpu = seesGpu(options, machine) ? [...devices, ...driverPaths] : [];
  return [
    ...[...libraries, ...gpu].filter((path) => existsSync(path)),
    ...options.programPaths,
    ...options.modelFiles,
  ];
}

/** Whether it can use a GPU, or a driver that replaces one. */
export function seesGpu({ usesGpu = false }: LaunchOptions, machine: Machine): boolean {
  return usesGpu && (machine.gpuDevices.length > 0 || machine.hasSoftwareVulkan);
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
