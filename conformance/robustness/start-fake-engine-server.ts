import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readProcessFile, startProcess } from "@hearth-and-keep/test-servers";

/** V8 keeps unneeded pages for as long as it can; in a small heap, only live memory grows. */
const smallHeap = ["--max-old-space-size=160", "--max-semi-space-size=4"];
const program = fileURLToPath(new URL("fake-engine-server.ts", import.meta.url));

export type FakeEngineServer = AsyncDisposable & {
  readonly url: string;
  isRunning(): boolean;
  /** The memory of the process after a garbage collection. */
  measureMegabytes(): Promise<number>;
};

/** Starts a server in its own process, with the model "tiny", which always responds with Hello. */
export async function startFakeEngineServer(): Promise<FakeEngineServer> {
  const owned = await startProcess({
    command: process.execPath,
    arguments: ["--expose-gc", ...smallHeap, program],
    isReady: (output) => output.includes("listening on"),
    readyWithinSeconds: 60,
  });
  return {
    url: /listening on (\S+)/.exec(owned.output())?.[1] ?? "",
    isRunning: () => readProcessFile(owned.pid, "cmdline").includes(program),
    async measureMegabytes() {
      process.kill(owned.pid, "SIGUSR2");
      await sleep(1000);
      const kilobytes = /VmRSS:\s+(\d+)/.exec(readProcessFile(owned.pid, "status"))?.[1];
      return Number(kilobytes) / 1024;
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}
