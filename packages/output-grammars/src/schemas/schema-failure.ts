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

/** Runs a step and attributes a NotExpressibleError to the given keyword. */
export function withKeyword<Result>(keyword: string, pointer: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (error instanceof NotExpressibleError) throw unsupported(keyword, pointer, error);
    throw error;
  }
}
