import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";

/** The PIDs of this process's binding workers, without the launchers that sandbox them. */
export function workerProcesses(): readonly number[] {
  return processesWith((args) => args.length === 2 && args[1]?.endsWith("/worker/main.ts") === true);
}

/** The PIDs of the llama-servers that this process spawned. */
export function llamaServerProcesses(): readonly number[] {
  return processesWith((args) => args.length === 3 && args[2]?.endsWith("/llama-server/launch.py") === true);
}

function processesWith(isMatch: (args: readonly string[]) => boolean): readonly number[] {
  return descendantsOf(process.pid).filter((pid) =>
    isMatch(readProcessFile(pid, "cmdline").split("\0").slice(0, -1)),
  );
}
