import { type ChildProcess, spawn } from "node:child_process";
import { getPriority, setPriority } from "node:os";
import { FailureError } from "@hearth-and-keep/failures";
import type { EngineSetupFailure } from "./engine-programs.ts";

export type ToolRun = {
  /** Completes the error message "Cannot …". */
  readonly step: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly folder?: string;
  readonly signal?: AbortSignal;
  readonly timeoutSeconds?: number;
  /** Called with each line that it prints. */
  readonly onLine?: (line: string) => void;
  /** Lets other processes compute first. */
  readonly isBackground?: boolean;
};

const maxOutputCharacters = 4000;

/** A nice value. */
const backgroundPriority = 10;

/** Runs a program to completion and returns the end of its output; throws `tool-failed` when it fails. */
export function runTool(run: ToolRun): Promise<string> {
  const { step, command, args, folder, signal, timeoutSeconds } = run;
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      cwd: folder,
      signal,
      // When the time is over, it is ended by SIGTERM, which build tools pass on to their compilers.
      timeout: timeoutSeconds === undefined ? 0 : timeoutSeconds * 1000,
      stdio: ["ignore", "pipe", "pipe"],
    });
    if (run.isBackground === true) lowerPriority(child.pid);
    const startedAt = performance.now();
    const output = collectOutput(child, run.onLine);
    const fail = (lastOutput: string): void =>
      reject(new FailureError<EngineSetupFailure>({ kind: "tool-failed", step, lastOutput }));
    child.once("error", (error) => {
      if (error.name === "AbortError") reject(error);
      else fail("the program could not be started");
    });
    child.once("close", (code) => {
      const isLate = timeoutSeconds !== undefined && performance.now() - startedAt >= timeoutSeconds * 1000;
      if (code === 0) resolve(output());
      else fail(isLate ? `it did not finish within ${timeoutSeconds} s` : lastLineOf(output()));
    });
  });
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, Math.max(getPriority(pid), backgroundPriority));
  } catch {
    // It has already exited.
  }
}

function collectOutput(child: ChildProcess, onLine: ToolRun["onLine"]): () => string {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    let unfinished = "";
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = `${output}${text}`.slice(-maxOutputCharacters);
      const lines = `${unfinished}${text}`.split("\n");
      unfinished = (lines.pop() ?? "").slice(-maxOutputCharacters);
      for (const line of lines) onLine?.(line);
    });
  }
  return () => output;
}

/** The last lines of npm's and clang's errors, which say nothing about the error. */
const aboutErrors = /A complete log of this run|Log files were not written|^\d+ errors? generated/u;

function lastLineOf(output: string): string {
  const lines = output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => !aboutErrors.test(line));
  const last = lines.findLast((line) => /error/iu.test(line)) ?? lines.findLast((line) => line !== "");
  // Local paths must not end up in messages that users share.
  return (last ?? "it failed").replace(/(?<![\w:/])(?:[A-Z]:)?[\\/][^\s"'`)]+/gu, "…").slice(0, 400);
}
