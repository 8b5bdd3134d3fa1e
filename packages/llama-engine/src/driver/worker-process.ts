import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { FromWorker, ToWorker } from "../worker/messages.ts";

export type WorkerEnd = { readonly exitCode: number | null; readonly signal: string | null };

export type WorkerProcess = {
  readonly pid: number;
  send(message: ToWorker): void;
  kill(): void;
  readonly ended: Promise<WorkerEnd>;
};

/** In a clone the worker is TypeScript; in an installed program it is built beside the server. */
const program = fileURLToPath(
  import.meta.url.endsWith(".ts")
    ? new URL("../worker/main.ts", import.meta.url)
    : new URL("./engine-worker.js", import.meta.url),
);

/** Starts a worker with nothing of the server's environment in it. */
export function startWorker(onMessage: (message: FromWorker) => void): WorkerProcess {
  const child = fork(program, [], {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    // One pool thread: decoding then always runs on the same thread, whose compute threads are reused.
    env: { UV_THREADPOOL_SIZE: "1" },
    execArgv: [],
  });
  child.on("message", onMessage);
  return {
    pid: child.pid ?? -1,
    // A message to a worker that has just died is lost; its end is told separately.
    send: (message) => void (child.connected && child.send(message)),
    kill: () => void child.kill("SIGKILL"),
    ended: whenEnded(child),
  };
}

function whenEnded(child: ChildProcess): Promise<WorkerEnd> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ exitCode: null, signal: null }));
    child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
  });
}
