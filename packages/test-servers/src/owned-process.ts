import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { partEnvironment } from "./config.ts";

export type OwnedProcess = AsyncDisposable & {
  readonly pid: number;
  /** The last lines it printed on either stream, for failure messages and assertions. */
  output(): string;
  /** Resolves with the exit code, or null when a signal ended it. */
  readonly exited: Promise<number | null>;
  stop(): Promise<void>;
};

export type ProcessPlan = {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** Checked every 25 ms until it holds; the start fails when the process exits or the time is over first. */
  isReady(output: string): boolean | Promise<boolean>;
  readonly readyWithinSeconds?: number;
  readonly stopSignal?: NodeJS.Signals;
  /** For a shell or npm, which do not pass signals on: what they started is ended with them. */
  readonly stopsDescendants?: boolean;
  /** Run as this user when we are root (PostgreSQL refuses to run as root). */
  readonly user?: { readonly uid: number; readonly gid: number };
};

const keptOutputCharacters = 64 * 1024;
const stopGraceSeconds = 10;
/** Ended with this process when a test forgets to, or is stopped before it can. */
const running = new Map<ChildProcess, SendSignal>();
process.once("exit", () => {
  for (const send of running.values()) send("SIGKILL");
});

type SendSignal = (signal: NodeJS.Signals) => void;

/** Starts a real program for a test, waits until it answers, and ends it by its id. */
export async function startProcess(plan: ProcessPlan): Promise<OwnedProcess> {
  const child = spawn(plan.command, [...plan.arguments], {
    env: { ...partEnvironment(), ...plan.environment },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own can be signalled as a whole.
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
  } catch (problem) {
    await owned.stop();
    throw problem;
  }
  return owned;
}

function signalSender(child: ChildProcess, { stopsDescendants }: ProcessPlan): SendSignal {
  return (signal) => {
    if (child.pid === undefined) return;
    try {
      process.kill(stopsDescendants === true ? -child.pid : child.pid, signal);
    } catch {
      // It has ended meanwhile, which is what was wanted.
    }
  };
}

function whenExited(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // "close" comes after the last output, "exit" may come before it.
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    });
  });
}

type Ending = {
  readonly exited: Promise<number | null>;
  readonly stop: () => void;
  readonly kill: () => void;
};

function own(child: ChildProcess, ending: Ending): OwnedProcess {
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-keptOutputCharacters);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const stop = async (): Promise<void> => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    ending.stop();
    const impatience = setTimeout(ending.kill, stopGraceSeconds * 1000);
    await once(child, "close");
    clearTimeout(impatience);
  };
  return {
    pid: child.pid ?? -1,
    output: () => output,
    exited: ending.exited,
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
      throw new Error(`Cannot start ${plan.command}: it ended with ${exitCode}\n${owned.output()}`);
    }
    if (Date.now() > deadline) {
      throw new Error(`Cannot start ${plan.command}: not ready after ${seconds} s\n${owned.output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
