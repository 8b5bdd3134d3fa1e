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
  /** Run as this user when we are root (PostgreSQL refuses to run as root). */
  readonly user?: { readonly uid: number; readonly gid: number };
};

const keptOutputCharacters = 64 * 1024;
const stopGraceSeconds = 10;
/** Ended with this process when a test forgets to, or is stopped before it can. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts a real program for a test, waits until it answers, and ends it by its id. */
export async function startProcess(plan: ProcessPlan): Promise<OwnedProcess> {
  const child = spawn(plan.command, [...plan.arguments], {
    env: { ...partEnvironment(), ...plan.environment },
    stdio: ["ignore", "pipe", "pipe"],
    ...(plan.folder === undefined ? {} : { cwd: plan.folder }),
    ...(plan.user === undefined ? {} : plan.user),
  });
  running.add(child);
  const exited = whenExited(child);
  const owned = own(child, { exited, stopSignal: plan.stopSignal ?? "SIGTERM" });
  try {
    await waitUntilReady(owned, plan);
  } catch (problem) {
    await owned.stop();
    throw problem;
  }
  return owned;
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

function own(
  child: ChildProcess,
  end: { exited: Promise<number | null>; stopSignal: NodeJS.Signals },
): OwnedProcess {
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-keptOutputCharacters);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const stop = async (): Promise<void> => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(end.stopSignal);
    const impatience = setTimeout(() => child.kill("SIGKILL"), stopGraceSeconds * 1000);
    await once(child, "close");
    clearTimeout(impatience);
  };
  return {
    pid: child.pid ?? -1,
    output: () => output,
    exited: end.exited,
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
