import { CommanderError } from "commander";
import { CallError } from "../server-client/call-failure.ts";
import { exitCodes } from "./exit-codes.ts";
import { explainCall } from "./format-error.ts";
import { errorScreen } from "./screen.ts";
import { wrapTo } from "./text-width.ts";

/** Says what went wrong on standard error and gives the exit code; what nobody expected is thrown on, as a defect. */
export async function tellProblem(problem: unknown): Promise<number> {
  if (problem instanceof CommanderError)
    return problem.exitCode === 0 ? exitCodes.fine : exitCodes.wrongWords;
  const { sentences, exitCode } =
    problem instanceof CallError ? explainCall(problem.failure) : await explainOthers(problem);
  for (const sentence of sentences) tellSentence(sentence);
  return exitCode;
}

/** Broken between words in a terminal; whole in a file, where it may be looked for. */
export function tellSentence(sentence: string): void {
  const columns = errorScreen.isTerminal ? errorScreen.columns() - 1 : Number.MAX_SAFE_INTEGER;
  for (const line of wrapTo(sentence, columns)) errorScreen.line(line);
}

type Wrong = { readonly write: (text: string) => void; readonly typed: string | undefined };

/** Words of the parser, in ours. */
export function tellWrongWords(text: string, { write, typed }: Wrong): void {
  const [first = "", suggestion = ""] = text.trimEnd().split("\n");
  write(`Cannot understand this: ${first.replace(/^error: /u, "").replaceAll("'", '"')}\n`);
  const meant = /Did you mean (?:one of )?(.+)\?/u.exec(suggestion)?.[1];
  const isUnknown = first.includes("unknown command");
  const help = `hearth ${typed === undefined || isUnknown ? "" : `${typed} `}--help tells what can be typed`;
  write(`Next: ${meant === undefined ? help : `did you mean ${meant}?`}\n`);
}

/** Settings, the store and the server's own start; loaded only now, because commands that call know none of it. */
async function explainOthers(problem: unknown) {
  const { explainProblem } = await import("@hearth-and-keep/command-line");
  const { explainFailure } = await import("../failures.ts");
  return explainProblem(problem, explainFailure);
}
