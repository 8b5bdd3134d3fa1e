import type { EngineEvent, EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { failureForSuspects, type GrammarBreaker } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";

/**
 * The requests with grammars that one engine is working on. If the engine stalls because of a grammar, they are reported
 * to the breaker: any of them may have been the cause. Of several, none is blamed.
 */
export class ConstrainedRequests {
  readonly #breaker: GrammarBreaker;
  readonly #exited: Promise<EngineFailure | undefined>;
  readonly #active = new Set<EngineRequest>();
  #suspects: readonly EngineRequest[] | undefined;

  constructor(breaker: GrammarBreaker, exited: Promise<EngineFailure | undefined>) {
    this.#breaker = breaker;
    this.#exited = exited;
  }

  /** Runs a request, or rejects its grammar at once. Requests without one are passed through. */
  async *run(request: EngineRequest, start: () => AsyncIterable<EngineEvent>): AsyncGenerator<EngineEvent> {
    this.#breaker.throwIfRejected(request);
    if (request.constraint === undefined) {
      yield* start();
      return;
    }
    this.#active.add(request);
    try {
      yield* start();
    } catch (error) {
      throw wasInterrupted(error) ? await this.#blame(error) : error;
    } finally {
      this.#active.delete(request);
    }
  }

  async #blame(error: FailureError<EngineFailure>): Promise<FailureError<EngineFailure>> {
    if (this.#suspects === undefined) {
      this.#suspects = [...this.#active];
      this.#breaker.recordStall(this.#suspects);
    }
    const failure = await this.#exited;
    return failure === undefined ? error : new FailureError(failureForSuspects(failure, this.#suspects));
  }
}

function wasInterrupted(error: unknown): error is FailureError<EngineFailure> {
  if (!(error instanceof FailureError)) return false;
  // An engine throws failures of the engine port only.
  const failure = error.failure as EngineFailure;
  return failure.kind === "engine-unloaded" && failure.wasInterrupted === true;
}
