import { type ErrorDetails, isFailureCode, nextStepFor } from "@hearth-and-keep/hearth-contract";
import { printToStderr } from "@hearth-and-keep/terminal";
import { CommanderError } from "commander";
import type { CommandFailure } from "../failures.ts";
import { CallError } from "../server-client/call-failure.ts";
import { exitCodes } from "./exit-codes.ts";
import { formatCallFailure, formatLines, formatNextStep } from "./format-error.ts";

/** Prints the error to standard error and returns the exit code. Unexpected errors are rethrown. */
export async function reportError(error: unknown): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
  if (error instanceof CallError) {
    const message = formatCallFailure(error.failure);
    for (const line of formatLines(message)) printToStderr(line);
    return message.exitCode;
  }
  const { messages, exitCode } = await explainOtherError(error);
  for (const message of messages) printToStderr(message);
  return exitCode;
}

/** Settings, the store and the server's own start. Loaded only here, because client commands do not need them. */
async function explainOtherError(error: unknown) {
  const { explainError } = await import("@hearth-and-keep/command-line");
  const { explainFailure } = await import("../failures.ts");
  return explainError(error, (failure: CommandFailure) => {
    const { messages, exitCode } = explainFailure(failure);
    const step = isFailureCode(failure.kind) ? nextStepFor(failure.kind, detailsOf(failure)) : undefined;
    return {
      messages: [...messages, ...(step === undefined ? [] : [`Next: ${formatNextStep(step)}`])],
      exitCode,
    };
  });
}

function detailsOf(failure: CommandFailure): ErrorDetails {
  return {
    ...("model" in failure ? { model: failure.model } : {}),
    ...("host" in failure ? { host: failure.host } : {}),
    ...(failure.kind === "address-forbidden" ? { reason: failure.reason } : {}),
  };
}
