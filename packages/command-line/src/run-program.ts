import { SettingsError } from "@hearth-and-keep/configuration";
import { FailureError } from "@hearth-and-keep/failures";
import { AddressError } from "@hearth-and-keep/http-service";
import type { Command } from "commander";

/** What the person at the terminal reads, and the exit code their scripts see. */
export type Explanation = { readonly sentences: readonly string[]; readonly exitCode: number };

/** The exit codes both programs share; a defect ends with Node's own 1 and a stack. */
export const exitCodes = { wrongSettings: 2, wrongSurroundings: 3 } as const;

/** Runs the command the words ask for; an expected failure becomes a sentence, anything else is a defect. */
export async function runProgram<Failure extends { readonly kind: string }>(
  program: Command,
  explainFailure: (failure: Failure) => Explanation,
): Promise<void> {
  try {
    await program.parseAsync();
  } catch (problem) {
    const { sentences, exitCode } = explainProblem(problem, explainFailure);
    for (const sentence of sentences) process.stderr.write(`${sentence}\n`);
    process.exitCode = exitCode;
  }
}

/** Throws what nobody expected on. */
export function explainProblem<Failure extends { readonly kind: string }>(
  problem: unknown,
  explainFailure: (failure: Failure) => Explanation,
): Explanation {
  if (problem instanceof SettingsError)
    return { sentences: problem.mistakes, exitCode: exitCodes.wrongSettings };
  if (problem instanceof AddressError) return explainAddress(problem);
  // A program throws FailureError with its own union only.
  if (problem instanceof FailureError) return explainFailure(problem.failure as Failure);
  throw problem;
}

function explainAddress({ reason, host, port }: AddressError): Explanation {
  const cause = {
    taken: "another program is using it; stop that one or choose another port with --port",
    unusable: "this machine does not have that address, or the port needs more rights",
  }[reason];
  return {
    sentences: [`Cannot listen on ${host} port ${port}: ${cause}`],
    exitCode: exitCodes.wrongSurroundings,
  };
}
