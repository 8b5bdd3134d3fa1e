import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { foldersOfProgram, type Machine, planLaunch } from "../sandbox/plan-launch.ts";
import type { FromWorker, ToWorker } from "../worker/messages.ts";

type WorkerEnd = { readonly exitCode: number | null; readonly signal: string | null };

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

export type WorkerPlan = { readonly modelFiles: readonly string[]; readonly machine: Machine };

/** Starts a worker locked in as far as the machine allows, with nothing of the server's environment in it. */
export function startWorker(plan: WorkerPlan, onMessage: (message: FromWorker) => void): WorkerProcess {
  const launch = planLaunch(
    {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles: plan.modelFiles,
      programFolders: foldersOfProgram(program),
    },
    plan.machine,
  );
  const child = spawn(launch.command, [...launch.words], {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: launch.environment,
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

/** A shell-like launcher in between reports the signal that ended its child as an exit code above 128. */
function whenEnded(child: ChildProcess): Promise<WorkerEnd> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ exitCode: null, signal: null }));
    child.once("exit", (exitCode, signal) => {
      const passedOn = exitCode !== null && exitCode > 128 ? signalNumbers.get(exitCode - 128) : undefined;
      resolve(passedOn === undefined ? { exitCode, signal } : { exitCode: null, signal: passedOn });
    });
  });
}

/** Some numbers have two names; the first one is the one everybody knows. */
const signalNumbers = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);
