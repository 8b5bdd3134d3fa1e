import { setTimeout as sleep } from "node:timers/promises";

/** A bandwidth limit in bytes per second, shared by all downloads. */
export type RateLimit = {
  /** Resolves once this many more bytes are within the limit; undefined when no wait is needed. */
  reserve(bytes: number, signal: AbortSignal): Promise<unknown> | undefined;
};

/** The bandwidth of this much time may be used at once after a pause. */
const burstMilliseconds = 100;

export function createRateLimit(bytesPerSecond: number | undefined): RateLimit {
  // When all reserved bytes will have been transferred at the limited rate.
  let reservedUntil = 0;
  return {
    reserve(bytes, signal) {
      if (bytesPerSecond === undefined) return undefined;
      const now = performance.now();
      reservedUntil = Math.max(reservedUntil, now - burstMilliseconds) + (bytes * 1000) / bytesPerSecond;
      const delayMilliseconds = reservedUntil - now;
      return delayMilliseconds > 0 ? sleep(delayMilliseconds, undefined, { signal }) : undefined;
    },
  };
}
