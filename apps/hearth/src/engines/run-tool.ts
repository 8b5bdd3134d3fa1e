import { spawn } from "node:child_process";
import { FailureError } from "@hearth-and-keep/failures";
import type { EngineSetupFailure } from "./engine-programs.ts";

export type ToolRun = {
  /** Completes "Cannot …" when it fails. */
  readonly step: string;
  readonly command: string;
  readonly words: readonly string[];
  readonly folder?: string;
  readonly signal?: AbortSignal;
};

const keptCharacters = 4000;

/** Runs a tool of the machine to its end and gives the end of what it printed; a failing one throws `tool-failed`. */
export function runTool({ step, command, words, folder, signal }: ToolRun): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const child = spawn(command, [...words], {
      cwd: folder,
      signal,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed = `${printed}${text}`.slice(-keptCharacters);
      });
    }
    const fail = (lastWords: string): void =>
      reject(new FailureError<EngineSetupFailure>({ kind: "tool-failed", step, lastWords }));
    child.once("error", (problem) => {
      if (problem.name === "AbortError") reject(problem);
      else fail("the program cannot be started");
    });
    child.once("close", (code) => (code === 0 ? resolve(printed) : fail(lastLineOf(printed))));
  });
}

function lastLineOf(printed: string): string {
  const lines = printed.split("\n").map((line) => line.trim());
  const last = lines.findLast((line) => /error/iu.test(line)) ?? lines.findLast((line) => line !== "");
  // Where things lie on this machine is nobody's business in a report that people pass on.
  return (last ?? "it failed").replace(/(?<![\w:/])(?:[A-Z]:)?[\\/][^\s"'`)]+/gu, "…").slice(0, 400);
}
