/** For work that cannot be called off: who waits for it leaves when the signal says so, and it goes on without him. */
export function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const hangUp = (): void => reject(signal.reason);
  if (signal.aborted) hangUp();
  signal.addEventListener("abort", hangUp);
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", hangUp));
}
