export type RateLimit = {
  /** Counts one request of this caller and returns the rate limit headers. */
  count(
    caller: string,
    hourlyLimit: number,
  ): { isExceeded: boolean; headers: Readonly<Record<string, string>> };
};

const hourInSeconds = 3600;

export function createRateLimit(): RateLimit {
  const windows = new Map<string, { used: number; resetAt: number }>();
  return {
    count(caller, hourlyLimit) {
      const now = Math.floor(Date.now() / 1000);
      const previous = windows.get(caller);
      const current =
        previous === undefined || previous.resetAt <= now
          ? { used: 0, resetAt: now + hourInSeconds }
          : previous;
      const isExceeded = current.used >= hourlyLimit;
      if (!isExceeded) current.used += 1;
      windows.set(caller, current);
      const headers = {
        "x-ratelimit-limit": String(hourlyLimit),
        "x-ratelimit-remaining": String(hourlyLimit - current.used),
        "x-ratelimit-used": String(current.used),
        "x-ratelimit-reset": String(current.resetAt),
        "x-ratelimit-resource": "core",
      };
      return { isExceeded, headers };
    },
  };
}
