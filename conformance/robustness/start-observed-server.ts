import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readProcessFile, startProcess } from "@hearth-and-keep/test-servers";

/** V8 keeps unneeded pages for as long as it can; in a small heap, only live memory grows. */
export const smallHeap: readonly string[] = ["--max-old-space-size=160", "--max-semi-space-size=4"];

export type ObservedServer = AsyncDisposable & {
  readonly url: string;
  readonly pid: number;
  isRunning(): boolean;
  /** The last lines it printed. */
  output(): string;
  /** The memory of the process after a garbage collection. */
  measureMegabytes(): Promise<number>;
};

export type ObservedServerOptions = {
  readonly nodeOptions?: readonly string[];
  readonly args?: readonly string[];
  /** The `cgroup.procs` file of a cgroup that the process enters before it starts. */
  readonly cgroupProcsPath?: string;
};

/** Starts a program of this folder that ends with `serveUntilStopped`, in its own process. */
export async function startObservedServer(
  name: string,
  { nodeOptions = [], args = [], cgroupProcsPath }: ObservedServerOptions,
): Promise<ObservedServer> {
  const program = fileURLToPath(new URL(name, import.meta.url));
  const server = [process.execPath, "--expose-gc", ...nodeOptions, program, ...args];
  const [command = "", ...rest] =
    cgroupProcsPath === undefined
      ? server
      : ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', cgroupProcsPath, ...server];
  const owned = await startProcess({
    command,
    arguments: rest,
    isReady: (output) => output.includes("listening on"),
    readyWithinSeconds: 60,
  });
  return {
    url: /listening on (\S+)/.exec(owned.output())?.[1] ?? "",
    pid: owned.pid,
    output: () => owned.output(),
    isRunning: () => readProcessFile(owned.pid, "cmdline").includes(program),
    async measureMegabytes() {
      process.kill(owned.pid, "SIGUSR2");
      await sleep(1000);
      return readMegabytes(owned.pid);
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

export function readMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readProcessFile(pid, "status"))?.[1]) / 1024;
}
