/** Seconds a model stays loaded after its last use; negative seconds mean forever too. */
export type KeepAlive = number | "forever";

/** The longest span a timer of Node can wait; a longer one fires at once. */
const longestTimerMilliseconds = 2 ** 31 - 1;

export function isForever(keepAlive: KeepAlive): boolean {
  return keepAlive === "forever" || keepAlive < 0;
}

/** On the same clock as `since`, in milliseconds. */
export function expiryOf(keepAlive: KeepAlive, since: number): number {
  return isForever(keepAlive) ? Number.POSITIVE_INFINITY : since + Number(keepAlive) * 1000;
}

/** An expiry on the monotonic clock as a date people read. */
export function expiryDate(expiresAt: number): Date | "never" {
  return expiresAt === Number.POSITIVE_INFINITY
    ? "never"
    : new Date(Date.now() + Math.max(0, expiresAt - performance.now()));
}

/** Calls back when it is time to look whether a moment has come; one too far for a timer is looked at before. */
export class ExpiryTimer {
  #timer: NodeJS.Timeout | undefined;

  start(expiresAt: number, look: () => void): void {
    this.stop();
    if (expiresAt === Number.POSITIVE_INFINITY) return;
    const remaining = Math.max(0, expiresAt - performance.now());
    // Rounded up, because a timer may fire within the millisecond before it is due.
    this.#timer = setTimeout(look, Math.min(Math.ceil(remaining), longestTimerMilliseconds));
    // A model that only waits to be unloaded keeps no process alive.
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
