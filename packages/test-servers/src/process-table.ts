import { readdirSync, readFileSync } from "node:fs";

export function processIds(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

export function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readProcessFile(pid, "status"))?.[1] ?? 0);
}

/** Children before their own children, without the process itself. */
export function descendantsOf(pid: number): readonly number[] {
  const all = processIds().map((each) => ({ pid: each, parent: parentOf(each) }));
  const listBelow = (ancestor: number): readonly number[] => {
    const children = all.filter(({ parent }) => parent === ancestor).map((child) => child.pid);
    return [...children, ...children.flatMap(listBelow)];
  };
  return listBelow(pid);
}

/** Returns "" when the process has exited or belongs to another user. */
export function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

/** False for zombies, which have no environment. */
export function hasVariable(pid: number, name: string, value: string): boolean {
  return readProcessFile(pid, "environ").split("\0").includes(`${name}=${value}`);
}
