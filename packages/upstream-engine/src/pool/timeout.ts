/**
 * A signal that aborts after some seconds. Responses already in the socket are processed first and count as in time.
 */
export function withTimeout(
  seconds: number,
  signal: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const timer = setTimeout(() => setImmediate(() => controller.abort()), seconds * 1000);
  timer.unref();
  return {
    signal: AbortSignal.any([signal, controller.signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
