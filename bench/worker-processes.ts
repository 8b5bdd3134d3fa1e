import { readdirSync, readFileSync } from "node:fs";

/** Ids of the engine workers below this process; launchers that lock them in are not counted. */
export function workerProcesses(): readonly number[] {
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  return processes.filter((pid) => {
    const words = readProcessFile(pid, "cmdline").split("\0");
    return (
      words.length === 3 && words[1]?.endsWith("/worker/main.ts") === true && descendsFrom(pid, process.pid)
    );
  });
}

function descendsFrom(pid: number, ancestor: number): boolean {
  const parent = Number(/^PPid:\s+(\d+)/m.exec(readProcessFile(pid, "status"))?.[1] ?? 0);
  return parent === ancestor || (parent > 1 && descendsFrom(parent, ancestor));
}

/** A process may end between listing and reading. */
function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
