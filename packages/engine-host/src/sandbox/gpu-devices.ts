import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export type GpuDevice = {
  readonly path: string;
  /** The group that may open it; a worker under another user needs it. */
  readonly groupId: number;
};

/** The device nodes through which the common GPU drivers are spoken to, as far as they exist. */
export function findGpuDevices(deviceFolder = "/dev"): readonly GpuDevice[] {
  const names = [
    ...namesIn(deviceFolder).filter((name) => /^(nvidia.*|kfd)$/u.test(name)),
    ...namesIn(join(deviceFolder, "dri"))
      .filter((name) => /^(card|renderD)\d+$/u.test(name))
      .map((name) => join("dri", name)),
  ];
  return names.toSorted().map((name) => {
    const path = join(deviceFolder, name);
    return { path, groupId: statSync(path).gid };
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // A machine without such devices has no such folder.
    return [];
  }
}
