import { readdirSync, readFileSync } from "node:fs";

export function processIds(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

export function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readProcessFile(pid, "status"))?.[1] ?? 0);
}

/** Children before their own children; the process itself is not among them. */
export function descendantsOf(pid: number): readonly number[] {
  const all = processIds().map((each) => ({ pid: each, parent: parentOf(each) }));
  const below = (ancestor: number): readonly number[] => {
    const children = all.filter(({ parent }) => parent === ancestor).map((child) => child.pid);
    return [...children, ...children.flatMap(below)];
  };
  return below(pid);
}

/** A process may end, or belong to somebody else, between listing and reading: then it has nothing to tell. */
export function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

/** One that has ended and that nobody has waited for has no environment any more. */
export function hasVariable(pid: number, name: string, value: string): boolean {
  return readProcessFile(pid, "environ").split("\0").includes(`${name}=${value}`);
}
