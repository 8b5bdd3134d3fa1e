/** A signal that ends after so many seconds. An answer that lies in our socket is in time: it is looked at first. */
export function within(seconds: number, signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const timer = setTimeout(() => setImmediate(() => controller.abort()), seconds * 1000);
  timer.unref();
  return {
    signal: AbortSignal.any([signal, controller.signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
