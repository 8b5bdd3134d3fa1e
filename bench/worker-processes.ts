import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";

/** Of a clone, or bundled. */
const workerProgram = /\/worker\/(?:main\.ts|engine-worker\.js)$/u;

/** The PIDs of this process's binding workers, without the launchers that sandbox them. */
export function workerProcesses(): readonly number[] {
  return processesWith(([, program = "", ...rest]) => rest.length === 0 && workerProgram.test(program));
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
