import { spawn } from "node:child_process";
import { FailureError } from "@hearth-and-keep/failures";
import type { EngineSetupFailure } from "./engine-programs.ts";

export type ToolRun = {
  /** Completes the error message "Cannot …". */
  readonly step: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly folder?: string;
  readonly signal?: AbortSignal;
};

const maxOutputCharacters = 4000;

/** Runs a program to completion and returns the end of its output; throws `tool-failed` when it fails. */
export function runTool({ step, command, args, folder, signal }: ToolRun): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const child = spawn(command, [...args], {
      cwd: folder,
      signal,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output = `${output}${text}`.slice(-maxOutputCharacters);
      });
    }
    const fail = (lastOutput: string): void =>
      reject(new FailureError<EngineSetupFailure>({ kind: "tool-failed", step, lastOutput }));
    child.once("error", (error) => {
      if (error.name === "AbortError") reject(error);
      else fail("the program could not be started");
    });
    child.once("close", (code) => (code === 0 ? resolve(output) : fail(lastLineOf(output))));
  });
}

function lastLineOf(output: string): string {
  const lines = output.split("\n").map((line) => line.trim());
  const last = lines.findLast((line) => /error/iu.test(line)) ?? lines.findLast((line) => line !== "");
  // Local paths must not end up in messages that users share.
  return (last ?? "it failed").replace(/(?<![\w:/])(?:[A-Z]:)?[\\/][^\s"'`)]+/gu, "…").slice(0, 400);
}
