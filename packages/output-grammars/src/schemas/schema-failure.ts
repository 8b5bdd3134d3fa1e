import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { NotExpressibleError } from "../automata/automaton.ts";

/** The failure for a keyword that cannot be expressed, with its location as a JSON pointer after "#". */
export function unsupported(keyword: string, pointer: string, cause?: unknown): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>(
    { kind: "schema-unsupported", keyword, location: pointer },
    { cause },
  );
}

/**
 * What happens to a keyword that has no exact grammar. `strict` rejects the schema; `lenient` leaves the keyword out, so
 * that the grammar accepts more than the schema, but never less.
 */
export type Enforcement = "strict" | "lenient";

export type KeywordLocation = { readonly keyword: string; readonly pointer: string };

/** Returns if the keyword may be left out, and rejects the schema otherwise. */
export function leaveOut(
  enforcement: Enforcement,
  { keyword, pointer }: KeywordLocation,
  cause?: unknown,
): void {
  if (enforcement === "strict") throw unsupported(keyword, pointer, cause);
}

/** Runs a step that expresses a keyword; undefined if it is left out. */
export function express<Result>(
  enforcement: Enforcement,
  location: KeywordLocation,
  step: () => Result,
): Result | undefined {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof NotExpressibleError)) throw error;
    leaveOut(enforcement, location, error);
    return undefined;
  }
}
