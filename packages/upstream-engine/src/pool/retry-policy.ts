/** Timeouts in seconds. */
export type PoolTimeouts = {
  /** Wait for an engine that accepts requests, while none does. */
  readonly anyEngine: number;
  /** Wait for the next event of an engine whose health check fails. */
  readonly unhealthy: number;
  /** Wait for the first event of a healthy engine: processing a long prompt sends no events. */
  readonly firstEvent: number;
  /** Wait for each subsequent event. */
  readonly nextEvent: number;
};

export const defaultPoolTimeouts: PoolTimeouts = {
  anyEngine: 10,
  unhealthy: 10,
  firstEvent: 15 * 60,
  nextEvent: 3 * 60,
};
