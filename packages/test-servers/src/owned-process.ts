import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { childEnvironment } from "./config.ts";

export type OwnedProcess = AsyncDisposable & {
  readonly pid: number;
  /** The last lines it printed on either stream, for failure messages and assertions. */
  output(): string;
  /** Resolves with the exit code, or null when a signal terminated it. */
  readonly exited: Promise<number | null>;
  stop(): Promise<void>;
};

export type ProcessPlan = {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** Polled every 25 ms until it returns true; the start fails when the process exits or times out first. */
  isReady(output: string): boolean | Promise<boolean>;
  readonly readyWithinSeconds?: number;
  readonly stopSignal?: NodeJS.Signals;
  /** For a shell or npm, which do not forward signals: stops their child processes as well. */
  readonly stopsDescendants?: boolean;
  /** Runs as this user when this process is root (PostgreSQL does not run as root). */
  readonly user?: { readonly uid: number; readonly gid: number };
};

const keptOutputCharacters = 64 * 1024;
const stopGraceSeconds = 10;
/** Killed when this process exits, in case a test does not stop them or is aborted. */
const running = new Map<ChildProcess, SendSignal>();
process.once("exit", () => {
  for (const send of running.values()) send("SIGKILL");
});

type SendSignal = (signal: NodeJS.Signals) => void;

/** Starts a real program for a test, waits until it is ready, and stops it by its process id. */
export async function startProcess(plan: ProcessPlan): Promise<OwnedProcess> {
  const child = spawn(plan.command, [...plan.arguments], {
    env: { ...childEnvironment(), ...plan.environment },
    stdio: ["ignore", "pipe", "pipe"],
    // A separate process group, which can be signalled as a whole.
    detached: plan.stopsDescendants === true,
    ...(plan.folder === undefined ? {} : { cwd: plan.folder }),
    ...(plan.user === undefined ? {} : plan.user),
  });
  const send = signalSender(child, plan);
  running.set(child, send);
  const owned = own(child, {
    exited: whenExited(child),
    stop: () => send(plan.stopSignal ?? "SIGTERM"),
    kill: () => send("SIGKILL"),
  });
  try {
    await waitUntilReady(owned, plan);
  } catch (error) {
    await owned.stop();
    throw error;
  }
  return owned;
}

function signalSender(child: ChildProcess, { stopsDescendants }: ProcessPlan): SendSignal {
  return (signal) => {
    if (child.pid === undefined) return;
    try {
      process.kill(stopsDescendants === true ? -child.pid : child.pid, signal);
    } catch {
      // It has already exited.
    }
  };
}

function whenExited(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // "close" follows the last output; "exit" may precede it.
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    });
  });
}

type Termination = {
  readonly exited: Promise<number | null>;
  readonly stop: () => void;
  readonly kill: () => void;
};

function own(child: ChildProcess, termination: Termination): OwnedProcess {
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-keptOutputCharacters);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const stop = async (): Promise<void> => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    termination.stop();
    const killTimer = setTimeout(termination.kill, stopGraceSeconds * 1000);
    await once(child, "close");
    clearTimeout(killTimer);
  };
  return {
    pid: child.pid ?? -1,
    output: () => output,
    exited: termination.exited,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function waitUntilReady(owned: OwnedProcess, plan: ProcessPlan): Promise<void> {
  const seconds = plan.readyWithinSeconds ?? 30;
  const deadline = Date.now() + seconds * 1000;
  let exitCode: number | null | undefined;
  owned.exited.then(
    (code) => (exitCode = code),
    () => (exitCode = null),
  );
  while (!(await plan.isReady(owned.output()))) {
    if (exitCode !== undefined) {
      throw new Error(`Cannot start ${plan.command}: it exited with ${exitCode}\n${owned.output()}`);
    }
    if (Date.now() > deadline) {
      throw new Error(`Cannot start ${plan.command}: not ready after ${seconds} s\n${owned.output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
