import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { CannotExpressError } from "../automata/automaton.ts";

/** What stands in the way of a grammar: the keyword, and where in the schema, as a JSON pointer after "#". */
export function unsupported(keyword: string, place: string, cause?: unknown): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "schema-unsupported", keyword, location: place }, { cause });
}

/** Runs a step that may find a set of texts too large or without a grammar, and says whose keyword that was. */
export function expressing<Result>(keyword: string, place: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (error instanceof CannotExpressError) throw unsupported(keyword, place, error);
    throw error;
  }
}
