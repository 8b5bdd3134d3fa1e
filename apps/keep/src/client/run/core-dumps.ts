import { readFileSync, writeFileSync } from "node:fs";

/** Which memory of this process Linux writes to a core dump; processes that it starts inherit it. */
const filterFile = "/proc/self/coredump_filter";
const noMemory = "0x0";

/**
 * Leaves the memory of this process, which contains the values, out of core dumps. Returns a function that starts another
 * program with the filter that this process had. Without Linux, or a readable /proc, both do nothing.
 */
export function leaveMemoryOutOfCoreDumps(): <Result>(start: () => Result) => Result {
  const original = readFilter();
  if (original !== undefined) writeFilter(noMemory);
  return (start) => {
    if (original !== undefined) writeFilter(original);
    try {
      return start();
    } finally {
      if (original !== undefined) writeFilter(noMemory);
    }
  };
}

function readFilter(): string | undefined {
  try {
    return `0x${readFileSync(filterFile, "utf8").trim()}`;
  } catch {
    return undefined;
  }
}

function writeFilter(filter: string): void {
  try {
    writeFileSync(filterFile, filter);
  } catch {
    // Without a writable /proc, e.g. in some containers.
  }
}
