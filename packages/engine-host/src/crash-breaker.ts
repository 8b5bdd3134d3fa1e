import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

const mostDeaths = 3;
const windowSeconds = 60;

/**
 * Keeps a model that brings its worker down again and again from being loaded again and again: three deaths within
 * a minute put it in quarantine until the oldest of them is a minute old.
 */
export class CrashBreaker {
  readonly #deaths = new Map<string, { readonly at: number; readonly reason: string }[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  refuseQuarantined(modelPath: string): void {
    const deaths = this.#recent(modelPath);
    const oldest = deaths.at(-mostDeaths);
    if (oldest === undefined) return;
    const retryAfterSeconds = Math.ceil((oldest.at + windowSeconds * 1000 - this.#now()) / 1000);
    const reason = deaths.at(-1)?.reason ?? "";
    throw new FailureError<EngineFailure>({ kind: "model-quarantined", reason, retryAfterSeconds });
  }

  /** Only an engine that came to a bad end counts: an invalid file or missing memory was answered in words. */
  recordDeath(modelPath: string, failure: EngineFailure | undefined): void {
    if (failure?.kind !== "engine-died" && failure?.kind !== "engine-hung") return;
    this.#deaths.set(modelPath, [
      ...this.#recent(modelPath),
      { at: this.#now(), reason: describeDeath(failure) },
    ]);
  }

  #recent(modelPath: string): { readonly at: number; readonly reason: string }[] {
    const since = this.#now() - windowSeconds * 1000;
    return (this.#deaths.get(modelPath) ?? []).filter(({ at }) => at > since);
  }
}

function describeDeath(failure: Extract<EngineFailure, { kind: "engine-died" | "engine-hung" }>): string {
  return failure.kind === "engine-died"
    ? `it ended with ${failure.signal ?? `exit code ${failure.exitCode}`}`
    : `it was silent for ${failure.seconds} seconds`;
}
