import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { clientFailure } from "../client-failure.ts";

export type Program = {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Masks secrets in what the program prints; without it, the program has the terminal itself. */
  readonly createMask?: (() => NodeJS.ReadWriteStream) | undefined;
};

export type RunningProgram = {
  /** Rejects when the program cannot be started. */
  readonly exitCode: Promise<number>;
  readonly stop: (signal: NodeJS.Signals) => void;
};

/** Signals that others send to this process alone. */
const forwardedSignals: readonly NodeJS.Signals[] =
  process.platform === "win32" ? ["SIGTERM", "SIGHUP"] : ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"];
/** Signals that a terminal sends to both processes. */
const keyboardSignals: readonly NodeJS.Signals[] =
  process.platform === "win32" ? ["SIGINT"] : ["SIGINT", "SIGQUIT"];
const signalBase = 128;

/**
 * Starts the program with our standard input, output and error. Node resets the signals that it ignores itself, such as
 * SIGPIPE, before it starts another program.
 */
export function startProgram({ program, args, environment, createMask }: Program): RunningProgram {
  const output = createMask === undefined ? "inherit" : "pipe";
  const child = spawn(program, args, { env: environment, stdio: ["inherit", output, output] });
  const masked =
    createMask === undefined
      ? []
      : [mask(child.stdout, createMask(), process.stdout), mask(child.stderr, createMask(), process.stderr)];
  const release = passSignals(child);
  const exitCode = waitForExit(child, program)
    .then(async (code) => {
      await Promise.allSettled(masked);
      return code;
    })
    .finally(release);
  return { exitCode, stop: (signal) => void child.kill(signal) };
}

/** The exit code as a shell reports it. */
function waitForExit(child: ChildProcess, program: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.on("error", (error: NodeJS.ErrnoException) => {
    // Also of a signal that could not be sent; the program then still runs.
    if (child.pid !== undefined) return;
    const kind = error.code === "ENOENT" ? "program-not-found" : "program-not-executable";
    reject(clientFailure({ kind, program }, { cause: error }));
  });
  child.on("exit", (code, signal) =>
    resolve(code ?? signalBase + (signal === null ? 0 : constants.signals[signal])),
  );
  return promise;
}

/** Returns a function that stops passing them. */
function passSignals(child: ChildProcess): () => void {
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  // The terminal has sent it to the program too, which alone decides what it means.
  const passKeyboard = (signal: NodeJS.Signals): void => {
    if (!process.stdin.isTTY && !process.stderr.isTTY) child.kill(signal);
  };
  for (const signal of forwardedSignals) process.on(signal, forward);
  for (const signal of keyboardSignals) process.on(signal, passKeyboard);
  return () => {
    for (const signal of forwardedSignals) process.off(signal, forward);
    for (const signal of keyboardSignals) process.off(signal, passKeyboard);
  };
}

async function mask(
  source: Readable | null,
  mlogin: NodeJS.ReadWriteStream,
  target: Writable,
): Promise<void> {
  if (source !== null) await pipeline(source, mlogin, target, { end: false });
}
