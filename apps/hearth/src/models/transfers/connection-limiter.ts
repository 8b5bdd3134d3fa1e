/** Room for so many connections at once, in all and to one host. */
export type Lanes = {
  /** Waits for room, in the order of asking; it is given back when the scope ends. */
  enter(host: string, signal: AbortSignal): Promise<Disposable>;
};

type Waiter = { readonly host: string; readonly admit: () => void };

export function createLanes({
  most,
  mostToHost,
}: {
  readonly most: number;
  readonly mostToHost: number;
}): Lanes {
  const waiting = new Set<Waiter>();
  const busy: string[] = [];
  function admitAll(): void {
    for (const waiter of waiting) {
      const isFull = busy.filter((host) => host === waiter.host).length >= mostToHost;
      if (busy.length >= most || isFull) continue;
      waiting.delete(waiter);
      busy.push(waiter.host);
      waiter.admit();
    }
  }
  function leave(host: string): void {
    busy.splice(busy.indexOf(host), 1);
    admitAll();
  }
  return {
    async enter(host, signal) {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const waiter = { host, admit: () => (signal.removeEventListener("abort", giveUp), resolve()) };
        function giveUp(): void {
          waiting.delete(waiter);
          reject(signal.reason);
        }
        signal.addEventListener("abort", giveUp, { once: true });
        waiting.add(waiter);
        admitAll();
      });
      return { [Symbol.dispose]: () => leave(host) };
    },
  };
}
