/** How many seconds a model stays loaded after its last use; a negative number means forever. */
export type KeepAlive = number | "forever";

/** The maximum delay of a Node timer; a longer one fires at once. */
const maxTimerMilliseconds = 2 ** 31 - 1;

export function isForever(keepAlive: KeepAlive): boolean {
  return keepAlive === "forever" || keepAlive < 0;
}

/** On the same clock as `since`, in milliseconds. */
export function computeExpiry(keepAlive: KeepAlive, since: number): number {
  return isForever(keepAlive) ? Number.POSITIVE_INFINITY : since + Number(keepAlive) * 1000;
}

/** Converts an expiry from the monotonic clock to a date. */
export function toExpiryDate(expiresAt: number): Date | "never" {
  return expiresAt === Number.POSITIVE_INFINITY
    ? "never"
    : new Date(Date.now() + Math.max(0, expiresAt - performance.now()));
}

/** Calls back at an expiry, or earlier if that is beyond the maximum delay of a timer; the callback checks the time. */
export class ExpiryTimer {
  #timer: NodeJS.Timeout | undefined;

  start(expiresAt: number, onTimer: () => void): void {
    this.stop();
    if (expiresAt === Number.POSITIVE_INFINITY) return;
    const remaining = Math.max(0, expiresAt - performance.now());
    // Rounded up, because a timer may fire up to a millisecond early.
    this.#timer = setTimeout(onTimer, Math.min(Math.ceil(remaining), maxTimerMilliseconds));
    // An idle model must not keep the process alive.
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
