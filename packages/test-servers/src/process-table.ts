import { readdirSync, readFileSync } from "node:fs";

export function processIds(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

export function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readProcessFile(pid, "status"))?.[1] ?? 0);
}

/** A process may end, or belong to somebody else, between listing and reading: then it has nothing to tell. */
export function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
