import { CommanderError } from "commander";
import type { StartFailure } from "../failures.ts";
import { ClientError } from "./client-failure.ts";
import { exitCodes } from "./exit-codes.ts";

/** Prints the error to standard error and returns the exit code. Unexpected errors are rethrown. */
export async function reportError(error: unknown): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
  const { printToStderr } = await import("./print-errors.ts");
  if (error instanceof ClientError) {
    const { formatFailure } = await import("./format-failure.ts");
    const { message, next, exitCode } = formatFailure(error.failure);
    printToStderr(message);
    if (next !== undefined) printToStderr(`Next: ${next}`);
    return exitCode;
  }
  const { messages, exitCode } = await explainServerError(error);
  for (const message of messages) printToStderr(message);
  return exitCode;
}

/** Settings and the server's own start. Loaded only here, because the client's commands do not need them. */
async function explainServerError(error: unknown) {
  const { explainError } = await import("@hearth-and-keep/command-line");
  const { explainFailure } = await import("../failures.ts");
  return explainError(error, (failure: StartFailure) => explainFailure(failure));
}
