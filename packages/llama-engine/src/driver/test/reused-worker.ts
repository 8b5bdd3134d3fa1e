/**
 * @module
 * For driver tests: a sandboxed worker with little memory that opens malformed model files in native code and is reused
 * until it crashes or hangs. A file costs at most its worker and a bounded wait.
 * Imported by tests of the driver only.
 */
import type { ChildProcess } from "node:child_process";
import { on, once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  findProgramFolders,
  inspectMachine,
  planWorkerLaunch,
  spawnLaunch,
} from "@hearth-and-keep/engine-host";
import { ipcEnvironment } from "@hearth-and-keep/test-servers";

/** Directly in native code, or through the binding, which parses the file itself first. */
type Method = "native" | "binding";
export type Outcome = "opened" | "rejected" | "crashed" | "hung";

export type ReusedWorker = AsyncDisposable & {
  /** Opens one file; after a crash or a hang the next file gets a new worker. */
  open(path: string, method: Method): Promise<Outcome>;
  countStarts(): number;
};

type Limits = { readonly timeoutMilliseconds: number; readonly maxBytes: number };

type Running = { readonly child: ChildProcess; readonly messages: AsyncIterator<readonly unknown[]> };

const program = fileURLToPath(new URL("../fixtures/vocabulary-worker.ts", import.meta.url));
const machine = inspectMachine();
const startTimeoutMilliseconds = 30_000;

/** Opens files of one folder, the only one that the worker can read. */
export function reuseWorker(folder: string, limits: Limits): ReusedWorker {
  let running: Running | undefined;
  let starts = 0;

  async function worker(): Promise<Running> {
    if (running !== undefined) return running;
    starts += 1;
    running = start(folder, limits);
    const first = await nextMessage(running, startTimeoutMilliseconds);
    if (first !== "ready")
      throw new Error(`Cannot start a worker: its first message is ${JSON.stringify(first)}`);
    return running;
  }

  async function close(): Promise<void> {
    const closing = running;
    running = undefined;
    if (closing !== undefined) await stop(closing.child);
  }

  return {
    countStarts: () => starts,
    async open(path, method) {
      const current = await worker();
      current.child.send({ path, method });
      const outcome = asOutcome(await nextMessage(current, limits.timeoutMilliseconds));
      if (outcome === "crashed" || outcome === "hung") await close();
      return outcome;
    },
    [Symbol.asyncDispose]: close,
  };
}

function start(folder: string, { maxBytes }: Limits): Running {
  const launch = planWorkerLaunch(
    {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles: [folder],
      programFolders: findProgramFolders(program),
      memory: { limitBytes: maxBytes },
      sandboxEnvironment: ipcEnvironment,
    },
    machine,
  );
  const child = spawnLaunch(launch, ["ignore", "ignore", "ignore", "ipc"], "advanced");
  return { child, messages: on(child, "message", { close: ["exit"] }) };
}

async function nextMessage({ messages }: Running, milliseconds: number): Promise<unknown> {
  const timeout = Promise.withResolvers<"hung">();
  const timer = setTimeout(() => timeout.resolve("hung"), milliseconds);
  const message = messages.next().then(({ done, value }) => (done === true ? "crashed" : value[0]));
  return Promise.race([message, timeout.promise]).finally(() => clearTimeout(timer));
}

function asOutcome(message: unknown): Outcome {
  if (message === "opened" || message === "rejected" || message === "crashed" || message === "hung")
    return message;
  throw new Error(`Unexpected message from the worker: ${JSON.stringify(message)}`);
}

/** Kills the launcher; bubblewrap ends the sandbox with its parent. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
