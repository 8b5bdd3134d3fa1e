import { setTimeout as wait } from "node:timers/promises";

/** Bytes per second that all who share it may take together. */
export type RateLimit = {
  /** Waits until so many more bytes are in order; undefined when there is nothing to wait for. */
  take(bytes: number, signal: AbortSignal): Promise<unknown> | undefined;
};

/** What may be taken at once after a pause. */
const burstMilliseconds = 100;

export function createRateLimit(bytesPerSecond: number | undefined): RateLimit {
  // The moment until which everything that was taken is paid for.
  let paidUntil = 0;
  return {
    take(bytes, signal) {
      if (bytesPerSecond === undefined) return undefined;
      const now = performance.now();
      paidUntil = Math.max(paidUntil, now - burstMilliseconds) + (bytes * 1000) / bytesPerSecond;
      const debtMilliseconds = paidUntil - now;
      return debtMilliseconds > 0 ? wait(debtMilliseconds, undefined, { signal }) : undefined;
    },
  };
}
