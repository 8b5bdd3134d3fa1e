import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export type GpuDevice = {
  readonly path: string;
  /** The group with access to it; a worker that runs as another user needs this group. */
  readonly groupId: number;
};

/** Where the Vulkan loader looks for drivers. */
export const vulkanFolders: readonly string[] = ["/etc/vulkan", "/usr/share/vulkan"];

/** The device nodes of the common GPU drivers that exist on this machine. */
export function findGpuDevices(deviceFolder = "/dev"): readonly GpuDevice[] {
  const names = [
    ...listNames(deviceFolder).filter((name) => /^(nvidia.*|kfd)$/u.test(name)),
    ...listNames(join(deviceFolder, "dri"))
      .filter((name) => /^(card|renderD)\d+$/u.test(name))
      .map((name) => join("dri", name)),
  ];
  return names.toSorted().map((name) => {
    const path = join(deviceFolder, name);
    return { path, groupId: statSync(path).gid };
  });
}

/** Manifests of Vulkan drivers that compute on the CPU, as Mesa and SwiftShader install them. */
const softwareDriver = /^(?:lvp|vk_swiftshader)_icd.*\.json$/u;

/** Whether there is a Vulkan driver that needs no device node. */
export function hasSoftwareVulkan(folders = vulkanFolders): boolean {
  return folders.some((folder) => listNames(join(folder, "icd.d")).some((name) => softwareDriver.test(name)));
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Without such devices the folder does not exist.
    return [];
  }
}
