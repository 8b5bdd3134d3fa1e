/**
 * Waits for work that cannot be cancelled. Aborting the signal rejects the returned promise; the work itself continues.
 */
export function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}
