import { readFileSync } from "node:fs";

export type ProcessMemory = {
  /** Anonymous pages: contexts, buffers, and weights that are copied instead of mapped. */
  readonly ownBytes: number;
  /** File-backed pages such as mapped weights. */
  readonly mappedBytes: number;
};

/** The resident memory of a process and its children; undefined if the kernel does not report it. */
export function memoryOfProcess(pid: number): ProcessMemory | undefined {
  const own = readStatus(pid);
  if (own === undefined) return undefined;
  return childrenOf(pid)
    .map(memoryOfProcess)
    .reduce<ProcessMemory>(
      (sum, each) => ({
        ownBytes: sum.ownBytes + (each?.ownBytes ?? 0),
        mappedBytes: sum.mappedBytes + (each?.mappedBytes ?? 0),
      }),
      own,
    );
}

function readStatus(pid: number): ProcessMemory | undefined {
  const status = readOrEmpty(`/proc/${pid}/status`);
  if (status === "") return undefined;
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "mu").exec(status)?.[1] ?? 0);
  return { ownBytes: kilobytes("RssAnon") * 1024, mappedBytes: kilobytes("RssFile") * 1024 };
}

function childrenOf(pid: number): readonly number[] {
  return readOrEmpty(`/proc/${pid}/task/${pid}/children`)
    .split(" ")
    .filter((each) => each !== "")
    .map(Number);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
