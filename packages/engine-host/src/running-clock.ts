/** Time during which this process ran. */
export type RunningClock = {
  /** Milliseconds since the clock was started. */
  now(): number;
  stop(): void;
};

/**
 * A clock that stands still while this process is stopped, suspended or blocked: what others sent during that time has
 * not been read yet, so their silence proves nothing. A longer gap between two ticks counts as two ticks.
 */
export function startRunningClock(tickMilliseconds: number, onTick: () => void): RunningClock {
  let elapsed = 0;
  let lastTickAt = performance.now();
  const sinceLastTick = (): number => Math.min(performance.now() - lastTickAt, 2 * tickMilliseconds);
  const timer = setInterval(() => {
    elapsed += sinceLastTick();
    lastTickAt = performance.now();
    onTick();
  }, tickMilliseconds);
  timer.unref();
  return { now: () => elapsed + sinceLastTick(), stop: () => clearInterval(timer) };
}
