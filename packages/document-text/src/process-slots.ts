import { FailureError } from "@hearth-and-keep/failures";
import type { PdfFailure } from "./pdf-failure.ts";
import type { PdfLimits } from "./pdf-limits.ts";

/** Limits how many processes run at the same time; the others wait in the order of their arrival. */
export class ProcessSlots {
  readonly #limits: Pick<PdfLimits, "processes" | "waiting">;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(limits: Pick<PdfLimits, "processes" | "waiting">) {
    this.#limits = limits;
  }

  /** Waits for a slot and holds it until the action has settled. */
  async run<Result>(action: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    if (this.#taken < this.#limits.processes) this.#taken += 1;
    else await this.#wait(signal);
    try {
      return await action();
    } finally {
      this.#release();
    }
  }

  /** Resolves with a slot that is already counted as taken. */
  #wait(signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.size;
    if (waiting >= this.#limits.waiting)
      throw new FailureError<PdfFailure>({ kind: "pdf-reader-busy", waiting });
    return new Promise((resolve, reject) => {
      const proceed = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(proceed);
        reject(signal.reason);
      };
      this.#waiting.add(proceed);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Passes the slot on, if a document waits for one. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
