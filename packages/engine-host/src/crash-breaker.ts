import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

const maxCrashes = 3;
const windowSeconds = 60;

/**
 * A circuit breaker for models whose worker keeps crashing: after three crashes within a minute a model is quarantined
 * until the oldest of them is a minute old.
 */
export class CrashBreaker {
  readonly #crashes = new Map<string, { readonly at: number; readonly reason: string }[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  throwIfQuarantined(modelPath: string): void {
    const crashes = this.#recent(modelPath);
    const oldest = crashes.at(-maxCrashes);
    if (oldest === undefined) return;
    const retryAfterSeconds = Math.ceil((oldest.at + windowSeconds * 1000 - this.#now()) / 1000);
    const reason = crashes.at(-1)?.reason ?? "";
    throw new FailureError<EngineFailure>({ kind: "model-quarantined", reason, retryAfterSeconds });
  }

  /** Counts crashes and hangs only. An invalid file or a lack of memory is reported without a crash. */
  recordFailure(modelPath: string, failure: EngineFailure | undefined): void {
    if (failure?.kind !== "engine-crashed" && failure?.kind !== "engine-hung") return;
    this.#crashes.set(modelPath, [
      ...this.#recent(modelPath),
      { at: this.#now(), reason: describeCrash(failure) },
    ]);
  }

  #recent(modelPath: string): { readonly at: number; readonly reason: string }[] {
    const since = this.#now() - windowSeconds * 1000;
    return (this.#crashes.get(modelPath) ?? []).filter(({ at }) => at > since);
  }
}

function describeCrash(failure: Extract<EngineFailure, { kind: "engine-crashed" | "engine-hung" }>): string {
  return failure.kind === "engine-crashed"
    ? `it exited with ${failure.signal ?? `exit code ${failure.exitCode}`}`
    : `it did not respond for ${failure.seconds} seconds`;
}
