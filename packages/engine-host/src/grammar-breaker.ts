import { createHash } from "node:crypto";
import type { EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

/** A grammar that stalled an engine alone is proven guilty; among others, only when it happens again. */
const guilty = 2;
const maxGrammars = 10_000;
const maxStallsPerClient = 3;
const windowSeconds = 600;

type Constrained = Pick<EngineRequest, "constraint" | "cachePartition">;

/**
 * A circuit breaker for grammars. One that stalled an engine is rejected from then on, because it would cost everybody
 * on the model another restart; and a client whose grammars did so three times within ten minutes cannot use any until
 * the oldest of them is ten minutes old.
 */
export class GrammarBreaker {
  /** In order of their last stall. */
  readonly #suspicions = new Map<string, number>();
  readonly #stalls = new Map<string, readonly number[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  throwIfRejected(request: Constrained): void {
    // Without a stall so far, no request pays for a digest.
    if (request.constraint === undefined || this.#suspicions.size === 0) return;
    if ((this.#suspicions.get(digestOf(request)) ?? 0) >= guilty) {
      throw new FailureError<EngineFailure>({ kind: "grammar-rejected" });
    }
    const oldest = this.#recentStalls(request).at(-maxStallsPerClient);
    if (oldest === undefined) return;
    const retryAfterSeconds = Math.ceil((oldest + windowSeconds * 1000 - this.#now()) / 1000);
    throw new FailureError<EngineFailure>({ kind: "grammars-suspended", retryAfterSeconds });
  }

  /** Records the requests with grammars that an engine was working on when it stalled. */
  recordStall(suspects: readonly Constrained[]): void {
    const suspicion = suspects.length === 1 ? guilty : 1;
    for (const digest of new Set(suspects.map(digestOf))) {
      const known = this.#suspicions.get(digest) ?? 0;
      this.#suspicions.delete(digest);
      this.#suspicions.set(digest, known + suspicion);
      const [first] = this.#suspicions.keys();
      if (this.#suspicions.size > maxGrammars && first !== undefined) this.#suspicions.delete(first);
    }
    const [only] = suspects;
    // Clients that share a partition cannot be distinguished.
    if (suspects.length !== 1 || only === undefined || only.cachePartition === "") return;
    this.#stalls.set(only.cachePartition, [...this.#recentStalls(only), this.#now()]);
  }

  #recentStalls({ cachePartition }: Constrained): readonly number[] {
    const since = this.#now() - windowSeconds * 1000;
    return (this.#stalls.get(cachePartition) ?? []).filter((at) => at > since);
  }
}

/** For the requests beside those with grammars: if a grammar was the cause, they can run again. */
export function failureForOthers(failure: EngineFailure): EngineFailure {
  return failure.kind === "grammar-too-slow" ? { kind: "engine-unloaded", wasInterrupted: true } : failure;
}

/** For the requests with grammars: of several, none is blamed, and none runs again by itself. */
export function failureForSuspects(failure: EngineFailure, suspects: readonly Constrained[]): EngineFailure {
  return suspects.length === 1 ? failure : { kind: "engine-unloaded" };
}

function digestOf({ constraint }: Constrained): string {
  return createHash("sha256").update(JSON.stringify(constraint)).digest("base64");
}
