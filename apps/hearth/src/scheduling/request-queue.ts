export type Waiter<Wish, Given> = {
  /** Grows by one with each request of the server, so it orders requests across models. */
  readonly ticket: number;
  readonly wish: Wish;
  readonly enteredAt: number;
  /** How many were ahead in this line at entry. */
  readonly position: number;
  give(given: Given): void;
  refuse(problem: unknown): void;
};

export type Entry<Wish> = {
  readonly ticket: number;
  readonly wish: Wish;
  readonly signal: AbortSignal;
  /** Called after a caller gave up and is out of the line. */
  readonly onLeave: () => void;
};

/** Who waits for one model, first come first served. A caller whose signal fires leaves at once. */
export class WaitingLine<Wish, Given> {
  readonly #waiters = new Set<Waiter<Wish, Given>>();

  get length(): number {
    return this.#waiters.size;
  }

  get head(): Waiter<Wish, Given> | undefined {
    return this.#waiters.values().next().value;
  }

  get wishes(): readonly Wish[] {
    return [...this.#waiters].map(({ wish }) => wish);
  }

  has(ticket: number): boolean {
    return [...this.#waiters].some((waiter) => waiter.ticket === ticket);
  }

  join({ ticket, wish, signal, onLeave }: Entry<Wish>): {
    readonly waiter: Waiter<Wish, Given>;
    readonly given: Promise<Given>;
  } {
    const { promise, resolve, reject } = Promise.withResolvers<Given>();
    const leave = (): void => {
      this.#waiters.delete(waiter);
      signal.removeEventListener("abort", hangUp);
    };
    const hangUp = (): void => {
      waiter.refuse(signal.reason);
      onLeave();
    };
    const waiter: Waiter<Wish, Given> = {
      ticket,
      wish,
      enteredAt: performance.now(),
      position: this.length,
      give(given) {
        leave();
        resolve(given);
      },
      refuse(problem) {
        leave();
        reject(problem);
      },
    };
    this.#waiters.add(waiter);
    signal.addEventListener("abort", hangUp);
    return { waiter, given: promise };
  }

  refuseAll(problem: unknown): void {
    for (const waiter of this.#waiters) waiter.refuse(problem);
  }
}

export type LineLoad = {
  readonly waiting: number;
  readonly places: number;
  readonly meanLeaseMilliseconds: number;
};

/** When a place in a full line may be free, from how long leases lasted lately. */
export function estimateRetrySeconds({ waiting, places, meanLeaseMilliseconds }: LineLoad): number {
  const seconds = ((meanLeaseMilliseconds / 1000) * waiting) / Math.max(1, places);
  return Math.min(30, Math.max(1, Math.ceil(seconds)));
}
