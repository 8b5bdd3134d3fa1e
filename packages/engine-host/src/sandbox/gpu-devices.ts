import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export type GpuDevice = {
  readonly path: string;
  /** The group with access to it; a worker that runs as another user needs this group. */
  readonly groupId: number;
};

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

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Without such devices the folder does not exist.
    return [];
  }
}
