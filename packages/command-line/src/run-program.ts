import { SettingsError } from "@hearth-and-keep/configuration";
import { exitCodes, FailureError } from "@hearth-and-keep/failures";
import { AddressError } from "@hearth-and-keep/http-service";
import type { Command } from "commander";

/** What a failed command prints, and its exit code. */
export type Explanation = { readonly messages: readonly string[]; readonly exitCode: number };

/** Runs the command on the command line; expected failures become messages, other errors are thrown. */
export async function runProgram<Failure extends { readonly kind: string }>(
  program: Command,
  explainFailure: (failure: Failure) => Explanation,
): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    const { messages, exitCode } = explainError(error, explainFailure);
    for (const message of messages) process.stderr.write(`${message}\n`);
    process.exitCode = exitCode;
  }
}

/** Rethrows errors that are no expected failure; Node then exits with 1 and a stack trace. */
export function explainError<Failure extends { readonly kind: string }>(
  error: unknown,
  explainFailure: (failure: Failure) => Explanation,
): Explanation {
  if (error instanceof SettingsError) {
    return { messages: error.messages, exitCode: exitCodes.usage };
  }
  if (error instanceof AddressError) return explainAddressError(error);
  // A program throws FailureError only with its own failures.
  if (error instanceof FailureError) return explainFailure(error.failure as Failure);
  throw error;
}

const addressReasons = {
  "in-use": "another process is using it; stop that process or choose another port with --port",
  unavailable: "this machine does not have that address, or the port needs more privileges",
} as const;

function explainAddressError({ reason, host, port }: AddressError): Explanation {
  return {
    messages: [`Cannot listen on ${host} port ${port}: ${addressReasons[reason]}`],
    exitCode: exitCodes.unavailable,
  };
}
