import { parentOf, processIds, readProcessFile } from "@hearth-and-keep/test-servers";

/** Ids of the engine workers below this process; launchers that lock them in are not counted. */
export function workerProcesses(): readonly number[] {
  return processIds().filter((pid) => {
    const words = readProcessFile(pid, "cmdline").split("\0");
    const isWorker = words.length === 3 && words[1]?.endsWith("/worker/main.ts") === true;
    return isWorker && descendsFrom(pid, process.pid);
  });
}

function descendsFrom(pid: number, ancestor: number): boolean {
  const parent = parentOf(pid);
  return parent === ancestor || (parent > 1 && descendsFrom(parent, ancestor));
}
