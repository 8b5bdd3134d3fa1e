/** Limits concurrent connections, in total and per host. */
export type ConnectionLimiter = {
  /** Waits for a free connection, in order of arrival; disposing the result releases it. */
  acquire(host: string, signal: AbortSignal): Promise<Disposable>;
};

export type ConnectionLimits = {
  readonly maxConnections: number;
  readonly maxConnectionsPerHost: number;
};

type Waiter = { readonly host: string; readonly admit: () => void };

export function createConnectionLimiter({
  maxConnections,
  maxConnectionsPerHost,
}: ConnectionLimits): ConnectionLimiter {
  const waiting = new Set<Waiter>();
  /** The host of each open connection. */
  const open: string[] = [];
  function admitWaiters(): void {
    for (const waiter of waiting) {
      const isHostFull = open.filter((host) => host === waiter.host).length >= maxConnectionsPerHost;
      if (open.length >= maxConnections || isHostFull) continue;
      waiting.delete(waiter);
      open.push(waiter.host);
      waiter.admit();
    }
  }
  function release(host: string): void {
    open.splice(open.indexOf(host), 1);
    admitWaiters();
  }
  return {
    async acquire(host, signal) {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const waiter = { host, admit: () => (signal.removeEventListener("abort", cancel), resolve()) };
        function cancel(): void {
          waiting.delete(waiter);
          reject(signal.reason);
        }
        signal.addEventListener("abort", cancel, { once: true });
        waiting.add(waiter);
        admitWaiters();
      });
      return { [Symbol.dispose]: () => release(host) };
    },
  };
}
