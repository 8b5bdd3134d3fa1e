export type QueuedRequest<Request, Result> = {
  /** Increases with every request to the server, so it orders requests across models. */
  readonly ticket: number;
  readonly request: Request;
  readonly enqueuedAt: number;
  /** How many requests were ahead in this queue on arrival. */
  readonly position: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

export type QueueEntry<Request> = {
  readonly ticket: number;
  readonly request: Request;
  readonly signal: AbortSignal;
  /** Called after an aborted request has left the queue. */
  readonly onAbort: () => void;
};

/** The queue of one model, first come first served. An aborted request leaves at once. */
export class RequestQueue<Request, Result> {
  readonly #queued = new Set<QueuedRequest<Request, Result>>();

  get length(): number {
    return this.#queued.size;
  }

  get head(): QueuedRequest<Request, Result> | undefined {
    return this.#queued.values().next().value;
  }

  get requests(): readonly Request[] {
    return [...this.#queued].map(({ request }) => request);
  }

  /** The first request in the queue for which this holds. */
  find(
    matches: (queued: QueuedRequest<Request, Result>) => boolean,
  ): QueuedRequest<Request, Result> | undefined {
    return this.#queued.values().find(matches);
  }

  has(ticket: number): boolean {
    return [...this.#queued].some((queued) => queued.ticket === ticket);
  }

  enqueue({ ticket, request, signal, onAbort }: QueueEntry<Request>): {
    readonly queued: QueuedRequest<Request, Result>;
    readonly result: Promise<Result>;
  } {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const leave = (): void => {
      this.#queued.delete(queued);
      signal.removeEventListener("abort", abort);
    };
    const abort = (): void => {
      queued.reject(signal.reason);
      onAbort();
    };
    const queued: QueuedRequest<Request, Result> = {
      ticket,
      request,
      enqueuedAt: performance.now(),
      position: this.length,
      resolve(result) {
        leave();
        resolve(result);
      },
      reject(error) {
        leave();
        reject(error);
      },
    };
    this.#queued.add(queued);
    signal.addEventListener("abort", abort);
    return { queued, result: promise };
  }

  rejectAll(error: unknown, matches: (request: Request) => boolean = () => true): void {
    for (const queued of this.#queued) if (matches(queued.request)) queued.reject(error);
  }
}

export type QueueLoad = {
  readonly waiting: number;
  readonly slots: number;
  readonly meanLeaseMilliseconds: number;
};

/** Estimates when a full queue has room again, from the duration of recent leases. */
export function estimateRetrySeconds({ waiting, slots, meanLeaseMilliseconds }: QueueLoad): number {
  const seconds = ((meanLeaseMilliseconds / 1000) * waiting) / Math.max(1, slots);
  return Math.min(30, Math.max(1, Math.ceil(seconds)));
}
