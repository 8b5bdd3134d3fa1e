import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";

/** Ids of the engine workers below this process; launchers that lock them in are not counted. */
export function workerProcesses(): readonly number[] {
  return descendantsOf(process.pid).filter((pid) => {
    const words = readProcessFile(pid, "cmdline").split("\0");
    return words.length === 3 && words[1]?.endsWith("/worker/main.ts") === true;
  });
}
