import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createMemoryCgroup, type MemoryCgroup } from "@hearth-and-keep/engine-host";
import { readProcessFile } from "@hearth-and-keep/test-servers";

type Cgroup = Parameters<typeof createMemoryCgroup>[0];

/** A memory cgroup of the test; a process enters it by writing its own id to `procsPath`. */
export type MemoryGroup = AsyncDisposable &
  Pick<MemoryCgroup, "procsPath" | "wasOomKilled"> & {
    /** The most memory that its processes have used together, including their page cache. */
    readPeakBytes(): number;
    /** How often the limit was reached, so that the kernel had to reclaim memory or to kill a process. */
    countLimitHits(): number;
  };

const files = {
  1: { peak: "memory.max_usage_in_bytes", hits: "memory.failcnt", hitCount: /^(\d+)/u },
  2: { peak: "memory.peak", hits: "memory.events", hitCount: /^max (\d+)/mu },
} as const;

/** Creates the group below that of this process, or at the root; returns the reasons if neither is possible. */
export function createMemoryGroup(limitBytes: number): MemoryGroup | string {
  const reasons: string[] = [];
  for (const parent of findParents()) {
    try {
      return openGroup(parent, createMemoryCgroup(parent, limitBytes));
    } catch (error) {
      reasons.push(String(error));
    }
  }
  return reasons.join("; ") || "this machine has no memory controller for cgroups";
}

function findParents(): readonly Cgroup[] {
  return readProcessFile(process.pid, "cgroup")
    .split("\n")
    .flatMap((line): readonly Cgroup[] => {
      const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/u.exec(line) ?? [];
      if (controllers.split(",").includes("memory")) {
        return [path, "/"].map((each) => ({ version: 1, folder: join("/sys/fs/cgroup/memory", each) }));
      }
      if (controllers !== "" || path === "") return [];
      return [path, "/"].map((each) => ({ version: 2, folder: join("/sys/fs/cgroup", each) }));
    })
    .filter(hasMemoryController);
}

/** In version 2, a group has a memory limit only if its parent enables the controller. */
function hasMemoryController({ version, folder }: Cgroup): boolean {
  return version === 1 || /\bmemory\b/u.test(read(join(folder, "cgroup.subtree_control")));
}

function openGroup({ version }: Cgroup, cgroup: MemoryCgroup): MemoryGroup {
  const folder = dirname(cgroup.procsPath);
  const { peak, hits, hitCount } = files[version];
  return {
    procsPath: cgroup.procsPath,
    wasOomKilled: () => cgroup.wasOomKilled(),
    readPeakBytes: () => Number(read(join(folder, peak))),
    countLimitHits: () => Number(hitCount.exec(read(join(folder, hits)))?.[1] ?? Number.NaN),
    [Symbol.asyncDispose]: () => cgroup.remove(),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
