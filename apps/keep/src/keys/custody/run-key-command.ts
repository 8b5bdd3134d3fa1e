import { type ChildProcess, spawn } from "node:child_process";
import { type KeyCommandProblem, shortenErrorText } from "./key-command-problem.ts";

export type KeyCommandOptions = {
  readonly environment: NodeJS.ProcessEnv;
  readonly timeoutMilliseconds: number;
};

type KeyCommandResult = { readonly output: Buffer } | { readonly problem: KeyCommandProblem };

const maxBytes = 4096;

/**
 * Runs a program without a shell and returns what it printed. One that takes too long or prints too much is killed with
 * the processes that it started. Standard input is closed, so it cannot wait for a password.
 */
export function runKeyCommand(
  [program = "", ...args]: readonly string[],
  { environment, timeoutMilliseconds }: KeyCommandOptions,
): Promise<KeyCommandResult> {
  return new Promise((resolve) => {
    // A process group of its own, which can be killed as a whole.
    const child = spawn(program, args, {
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const kill = (): void => killGroup(child);
    const fail = (problem: KeyCommandProblem): void => finish({ problem });
    const seconds = timeoutMilliseconds / 1000;
    const timer = setTimeout(() => {
      kill();
      fail({ kind: "timed-out", seconds });
    }, timeoutMilliseconds);
    process.once("exit", kill);
    const finish = (result: KeyCommandResult): void => {
      clearTimeout(timer);
      process.off("exit", kill);
      // A process that escaped from the group may still have them open.
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(result);
    };
    const output = collect(child.stdout, () => {
      kill();
      fail({ kind: "too-long", maxBytes });
    });
    const errors = collect(child.stderr, () => undefined);
    child.on("error", (error) => fail(spawnProblem(error)));
    child.on("close", (code, signal) => {
      if (signal !== null) return fail({ kind: "killed", signal });
      if (code === 0) return finish({ output: Buffer.concat(output) });
      const errorText = shortenErrorText(Buffer.concat(errors).toString("utf8"));
      fail({ kind: "exited", code: code ?? -1, errorText });
    });
  });
}

/** Keeps the first bytes of a stream and reads the rest, so that the program is not blocked. */
function collect(stream: NodeJS.ReadableStream, onFull: () => void): readonly Buffer[] {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    chunks.push(chunk.subarray(0, maxBytes - Math.min(bytes, maxBytes)));
    bytes += chunk.length;
    if (bytes > maxBytes) onFull();
  });
  return chunks;
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

function spawnProblem(error: Error): KeyCommandProblem {
  return "code" in error && error.code === "ENOENT" ? { kind: "not-found" } : { kind: "not-executable" };
}
