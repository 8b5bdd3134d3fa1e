/** One sequence of a context. `resource` is the driver's own handle for it. */
export type Slot<Resource> = {
  readonly resource: Resource;
  /** Its index in the context. */
  readonly number: number;
  /** The cache partition of its tokens; undefined if no request may reuse them. */
  partition: string | undefined;
  isBusy: boolean;
  usedAt: number;
};

export type SlotRequest = {
  readonly prompt: readonly number[];
  readonly partition: string;
  readonly signal: AbortSignal;
};

export type SlotPoolOptions<Resource> = {
  /** The tokens in a slot's cache. */
  readonly cachedTokens: (resource: Resource) => readonly number[];
  /** Whether to prefer slots next to busy ones over the least recently used. */
  readonly prefersNeighbours: boolean;
};

type QueuedRequest<Resource> = {
  readonly request: SlotRequest;
  readonly resolve: (slot: Slot<Resource>) => void;
};

/**
 * Leases the slots of one context to running requests, first come first served. A request gets the free slot with the
 * longest cached prefix of its prompt. Slots of another partition count as empty, so that cache timing reveals nothing
 * about other clients' prompts.
 */
export class SlotPool<Resource> {
  readonly #slots: readonly Slot<Resource>[];
  readonly #options: SlotPoolOptions<Resource>;
  #queue: QueuedRequest<Resource>[] = [];

  constructor(resources: readonly Resource[], options: SlotPoolOptions<Resource>) {
    this.#options = options;
    this.#slots = resources.map((resource, number) => ({
      resource,
      number,
      partition: undefined,
      isBusy: false,
      usedAt: 0,
    }));
  }

  get freeSlots(): number {
    return this.#slots.filter((slot) => !slot.isBusy).length;
  }

  get isIdle(): boolean {
    return this.#slots.every((slot) => !slot.isBusy);
  }

  get waitingRequests(): number {
    return this.#queue.length;
  }

  acquire(request: SlotRequest): Promise<Slot<Resource>> {
    const { signal } = request;
    // An aborted signal fires no further event, so the request would stay queued.
    if (signal.aborted) return Promise.reject(signal.reason);
    const slot = this.#findBestFree(request);
    if (slot !== undefined) {
      slot.isBusy = true;
      return Promise.resolve(slot);
    }
    return new Promise((resolve, reject) => {
      const queued: QueuedRequest<Resource> = { request, resolve };
      this.#queue.push(queued);
      signal.addEventListener(
        "abort",
        () => {
          this.#queue = this.#queue.filter((each) => each !== queued);
          reject(signal.reason);
        },
        { once: true },
      );
    });
  }

  /** Leases a slot for something other than a request: it keeps its age. `choose` gets the free ones, oldest first. */
  reserve(
    choose: (free: readonly Slot<Resource>[]) => Slot<Resource> | undefined,
  ): Slot<Resource> | undefined {
    const free = this.#slots.filter((each) => !each.isBusy);
    const slot = choose(free.toSorted((a, b) => a.usedAt - b.usedAt));
    if (slot !== undefined) slot.isBusy = true;
    return slot;
  }

  release(slot: Slot<Resource>): void {
    slot.usedAt = performance.now();
    this.endReservation(slot);
  }

  endReservation(slot: Slot<Resource>): void {
    slot.isBusy = false;
    const next = this.#queue.shift();
    if (next === undefined) return;
    const best = this.#findBestFree(next.request) ?? slot;
    best.isBusy = true;
    next.resolve(best);
  }

  /** How many tokens of the prompt the slot has cached and may reuse. */
  cachedPrefix(slot: Slot<Resource>, { prompt, partition }: SlotRequest): number {
    if (slot.partition !== partition) return 0;
    return commonPrefix(this.#options.cachedTokens(slot.resource), prompt);
  }

  #findBestFree(request: SlotRequest): Slot<Resource> | undefined {
    return this.#slots
      .filter((slot) => !slot.isBusy)
      .map((slot) => ({
        slot,
        cached: this.cachedPrefix(slot, request),
        neighbours: this.#options.prefersNeighbours ? this.#countBusyNeighbours(slot) : 0,
      }))
      .toSorted(
        (a, b) => b.cached - a.cached || b.neighbours - a.neighbours || a.slot.usedAt - b.slot.usedAt,
      )[0]?.slot;
  }

  #countBusyNeighbours({ number }: Slot<Resource>): number {
    return [number - 1, number + 1].filter((each) => this.#slots[each]?.isBusy === true).length;
  }
}

function commonPrefix(cached: readonly number[], prompt: readonly number[]): number {
  const limit = Math.min(cached.length, prompt.length);
  let length = 0;
  while (length < limit && cached[length] === prompt[length]) length += 1;
  return length;
}
