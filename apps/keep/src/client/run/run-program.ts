import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { clientFailure } from "../client-failure.ts";

export type Program = { readonly program: string; readonly args: readonly string[] };

/** What a program gets when it is started. */
export type Launch = {
  readonly environment: NodeJS.ProcessEnv;
  /** Masks secrets in what the program prints; without it, the program has the terminal itself. */
  readonly createMask?: (() => NodeJS.ReadWriteStream) | undefined;
  /** In a session of its own, and reads the names of its signals from descriptor 3, because it starts another one. */
  readonly isControlled?: boolean;
};

export type ProgramExit = {
  /** As a shell reports it. */
  readonly code: number;
  /** That ended it. */
  readonly signal: NodeJS.Signals | undefined;
};

export type RunningProgram = {
  /** Rejects when the program cannot be started. */
  readonly exit: Promise<ProgramExit>;
  readonly send: (signal: NodeJS.Signals) => void;
};

const signalBase = 128;

/**
 * Starts the program with our standard input, output and error. Node resets the signals that it ignores itself, such as
 * SIGPIPE, before it starts another program.
 */
export function startProgram(
  { program, args }: Program,
  { environment, createMask, isControlled = false }: Launch,
): RunningProgram {
  const output = createMask === undefined ? "inherit" : "pipe";
  const child = spawnProgram(() =>
    spawn(program, args, {
      env: environment,
      stdio: ["inherit", output, output, ...(isControlled ? (["pipe"] as const) : [])],
      detached: isControlled,
    }),
  );
  const masked =
    createMask === undefined
      ? []
      : [mask(child.stdout, createMask(), process.stdout), mask(child.stderr, createMask(), process.stderr)];
  const exit = waitForExit(child, program).then(async (ended) => {
    await Promise.all(masked);
    return ended;
  });
  return { exit, send: isControlled ? openControl(child) : (signal) => void child.kill(signal) };
}

function openControl(child: ChildProcess): RunningProgram["send"] {
  const control = child.stdio[3];
  if (control === null || control === undefined || !("write" in control))
    throw new Error("The program was started without a control pipe");
  // The program may have ended.
  control.on("error", () => undefined);
  return (signal) => void control.write(`${signal}\n`);
}

/** The system refuses an environment that is too large. */
function spawnProgram(start: () => ChildProcess): ChildProcess {
  try {
    return start();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "E2BIG")
      throw clientFailure({ kind: "environment-too-large" }, { cause: error });
    throw error;
  }
}

function waitForExit(child: ChildProcess, program: string): Promise<ProgramExit> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramExit>();
  child.on("error", (error: NodeJS.ErrnoException) => {
    // Also of a signal that could not be sent; the program then still runs.
    if (child.pid !== undefined) return;
    const kind = error.code === "ENOENT" ? "program-not-found" : "program-not-executable";
    reject(clientFailure({ kind, program }, { cause: error }));
  });
  child.on("exit", (code, signal) =>
    resolve({
      code: code ?? signalBase + (signal === null ? 0 : constants.signals[signal]),
      signal: signal ?? undefined,
    }),
  );
  return promise;
}

async function mask(
  source: Readable | null,
  masking: NodeJS.ReadWriteStream,
  target: Writable,
): Promise<void> {
  // Otherwise a closed pipe would end this process and leave the program behind, which instead fails to write as well.
  target.removeAllListeners("error");
  target.on("error", () => source?.destroy());
  if (source !== null) await pipeline(source, masking, target, { end: false }).catch(() => undefined);
}
