import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";

/** Ids of the binding's workers below this process; launchers that lock them in are not counted. */
export function workerProcesses(): readonly number[] {
  return processesWith((words) => words.length === 2 && words[1]?.endsWith("/worker/main.ts") === true);
}

/** Ids of the spawned llama-servers below this process. */
export function llamaServerProcesses(): readonly number[] {
  return processesWith(
    (words) => words.length === 3 && words[2]?.endsWith("/llama-server/launch.py") === true,
  );
}

function processesWith(isWanted: (words: readonly string[]) => boolean): readonly number[] {
  return descendantsOf(process.pid).filter((pid) =>
    isWanted(readProcessFile(pid, "cmdline").split("\0").slice(0, -1)),
  );
}
