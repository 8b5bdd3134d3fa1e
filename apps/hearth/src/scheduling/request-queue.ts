export type QueuedRequest<Request, Result> = {
  /** Increases with every request to the server, so it orders requests across models. */
  readonly ticket: number;
  readonly isBackground: boolean;
  readonly request: Request;
  readonly enqueuedAt: number;
  /** How many requests were ahead in this queue on arrival. */
  readonly position: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

export type QueueEntry<Request> = {
  readonly ticket: number;
  /** Waits behind all others. */
  readonly isBackground?: boolean;
  readonly request: Request;
  readonly signal: AbortSignal;
  /** Called after an aborted request has left the queue. */
  readonly onAbort: () => void;
};

/**
 * The queue of one model, first come first served; background requests come after all others, whenever those arrive. An
 * aborted request leaves at once.
 */
export class RequestQueue<Request, Result> {
  readonly #queued = new Set<QueuedRequest<Request, Result>>();
  readonly #background = new Set<QueuedRequest<Request, Result>>();

  get length(): number {
    return this.#queued.size + this.#background.size;
  }

  /** Without background requests: those that a client waits for. */
  get clientLength(): number {
    return this.#queued.size;
  }

  get head(): QueuedRequest<Request, Result> | undefined {
    return this.#queued.values().next().value ?? this.#background.values().next().value;
  }

  get requests(): readonly Request[] {
    return [...this.#queued, ...this.#background].map(({ request }) => request);
  }

  /** The first request in the queue for which this holds. */
  find(
    matches: (queued: QueuedRequest<Request, Result>) => boolean,
  ): QueuedRequest<Request, Result> | undefined {
    return this.#queued.values().find(matches) ?? this.#background.values().find(matches);
  }

  has(ticket: number): boolean {
    return this.find((queued) => queued.ticket === ticket) !== undefined;
  }

  enqueue({ ticket, request, signal, onAbort, isBackground = false }: QueueEntry<Request>): {
    readonly queued: QueuedRequest<Request, Result>;
    readonly result: Promise<Result>;
  } {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const members = isBackground ? this.#background : this.#queued;
    const leave = (): void => {
      members.delete(queued);
      signal.removeEventListener("abort", abort);
    };
    const abort = (): void => {
      queued.reject(signal.reason);
      onAbort();
    };
    const queued: QueuedRequest<Request, Result> = {
      ticket,
      isBackground,
      request,
      enqueuedAt: performance.now(),
      position: isBackground ? this.length : this.clientLength,
      resolve(result) {
        leave();
        resolve(result);
      },
      reject(error) {
        leave();
        reject(error);
      },
    };
    members.add(queued);
    signal.addEventListener("abort", abort);
    return { queued, result: promise };
  }

  rejectAll(error: unknown, matches: (request: Request) => boolean = () => true): void {
    const all = [...this.#queued, ...this.#background];
    for (const queued of all) if (matches(queued.request)) queued.reject(error);
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
