import type { Timings, Usage } from "@hearth-and-keep/engine";

/** Whom a request is for: an API key, or everyone on a server without keys. */
export type RequestOwner = {
  readonly id: string;
  /** Owners with a higher one are served first. */
  readonly priority: number;
};

export type QueuedRequest<Request, Result> = {
  /** Increases with every request to the server, so it orders requests across models. */
  readonly ticket: number;
  readonly isBackground: boolean;
  readonly owner: RequestOwner;
  readonly request: Request;
  readonly enqueuedAt: number;
  /** How many requests were ahead in this queue on arrival. */
  readonly position: number;
  /** The lowest position that its client was told. */
  toldPosition: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

export type QueueEntry<Request> = {
  readonly ticket: number;
  /** Waits behind all others. */
  readonly isBackground?: boolean;
  readonly owner?: RequestOwner;
  readonly request: Request;
  readonly signal: AbortSignal;
  /** Called after an aborted request has left the queue. */
  readonly onAbort: () => void;
};

export type Slots = { readonly slots: number; readonly freeSlots: number };

/** Counts the tokens of one lease. */
export type LeaseMeter = {
  /** Adds tokens that were evaluated or generated since the last call. */
  readonly add: (promptTokens: number, outputTokens: number) => void;
  /** Measures what an output token costs, from a generation that has ended. */
  readonly measure: (usage: Usage, timings: Timings) => void;
  readonly end: () => void;
};

const anyone: RequestOwner = { id: "", priority: 0 };
/** Of an output token in prompt tokens, until it is measured. */
const defaultOutputWeight = 2;
const outputWeights = { min: 1, max: 8 };
/** Shorter ones measure mostly other things. */
const minMeasuredTokens = { prompt: 32, output: 8 };
/** In virtual tokens: of a lease until its owner has others to estimate it from, and at least. */
const defaultLeaseCost = 256;
const minLeaseCost = 16;
/** A request that has waited for so long is no longer overtaken because of priorities. */
const maxPrioritySeconds = 15;
/** For so long after its last request, one slot is kept free for an owner. */
const recentSeconds = 300;
/** With fewer slots, keeping one free would cost too much. */
const minSlotsToKeepOne = 4;
const maxIdleAccounts = 256;

/** What an owner has been served, and what it waits for. */
type Account<Entry> = {
  priority: number;
  /** Tokens served, each output token with its weight. */
  servedTokens: number;
  /** What its leases are estimated to use beyond that. The owner with the lowest sum of both is served next. */
  expectedTokens: number;
  leases: number;
  meanLeaseCost: number;
  /** When a client of this owner was last here. */
  seenAt: number;
  readonly waiting: Set<Entry>;
};

/**
 * The queue of one model. Owners take turns by the tokens that they were served (virtual token counters, as in VTC), and
 * the requests of one owner are first come first served. A lease is charged as estimated when it begins, and corrected as
 * tokens come. An owner that comes back starts at the lowest counter of those that wait, so that absence is no credit.
 * Background requests come after all others, whenever those arrive. An aborted request leaves at once.
 */
export class RequestQueue<Request, Result> {
  readonly #queued = new Set<QueuedRequest<Request, Result>>();
  readonly #background = new Set<QueuedRequest<Request, Result>>();
  readonly #accounts = new Map<string, Account<QueuedRequest<Request, Result>>>();
  /** The counter of an owner that was served. */
  #servedTokens = 0;
  #outputWeight = defaultOutputWeight;
  #leases = 0;

  get length(): number {
    return this.#queued.size + this.#background.size;
  }

  /** Without background requests: those that a client waits for. */
  get clientLength(): number {
    return this.#queued.size;
  }

  /** How many prompt tokens an output token counts as. */
  get outputWeight(): number {
    return this.#outputWeight;
  }

  /** The ids of the owners that wait. */
  get waitingOwners(): readonly string[] {
    return [...this.#accounts].flatMap(([id, { waiting }]) => (waiting.size > 0 ? [id] : []));
  }

  waitingOf(ownerId: string): number {
    return this.#accounts.get(ownerId)?.waiting.size ?? 0;
  }

  /** The oldest request. */
  get head(): QueuedRequest<Request, Result> | undefined {
    return this.#queued.values().next().value ?? this.#background.values().next().value;
  }

  /** In order of arrival. */
  get requests(): readonly Request[] {
    return [...this.#queued, ...this.#background].map(({ request }) => request);
  }

  /** The oldest request for which this holds. */
  find(
    matches: (queued: QueuedRequest<Request, Result>) => boolean,
  ): QueuedRequest<Request, Result> | undefined {
    return this.#queued.values().find(matches) ?? this.#background.values().find(matches);
  }

  has(ticket: number): boolean {
    return this.find((queued) => queued.ticket === ticket) !== undefined;
  }

  /**
   * The request to serve next, of those for which this holds. The share of an owner is one of tokens, those included that
   * its leases are expected to use; but none has all slots while others wait. While an owner is away that was here
   * recently, the last free slot is kept for it, so that it need not wait for the end of another owner's request.
   */
  next(
    matches: (queued: QueuedRequest<Request, Result>) => boolean,
    { slots, freeSlots }: Slots,
  ): QueuedRequest<Request, Result> | undefined {
    const isLastKept = freeSlots === 1 && slots >= minSlotsToKeepOne && this.#isAnyoneExpected();
    let best: Candidate<QueuedRequest<Request, Result>> | undefined;
    for (const account of this.#accounts.values()) {
      if (account.waiting.size === 0 || (isLastKept && account.leases > 0)) continue;
      const queued = account.waiting.values().find(matches);
      if (queued === undefined) continue;
      const candidate = { ...account, queued, hasMost: account.leases > 0 && account.leases >= slots - 1 };
      if (best === undefined || compareTurns(candidate, best) < 0) best = candidate;
    }
    return best?.queued ?? this.#background.values().find(matches);
  }

  /** All requests in the order in which they would be served if no other came. */
  inOrder(): readonly QueuedRequest<Request, Result>[] {
    let heads = [...this.#accounts.values()].flatMap((account) => {
      const requests = account.waiting.values();
      const { value: queued } = requests.next();
      return queued === undefined ? [] : [{ ...account, requests, queued, hasMost: false }];
    });
    const ordered: QueuedRequest<Request, Result>[] = [];
    while (heads.length > 0) {
      const first = heads.reduce((best, each) => (compareTurns(each, best) < 0 ? each : best));
      ordered.push(first.queued);
      first.expectedTokens += estimateCost(first);
      const { value: next } = first.requests.next();
      if (next === undefined) heads = heads.filter((each) => each !== first);
      else first.queued = next;
    }
    return [...ordered, ...this.#background];
  }

  enqueue({ ticket, request, signal, onAbort, isBackground = false, owner = anyone }: QueueEntry<Request>): {
    readonly queued: QueuedRequest<Request, Result>;
    readonly result: Promise<Result>;
  } {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const members = isBackground ? this.#background : this.#queued;
    const account = this.#open(owner);
    const leave = (): void => {
      members.delete(queued);
      account.waiting.delete(queued);
      signal.removeEventListener("abort", abort);
    };
    const abort = (): void => {
      queued.reject(signal.reason);
      onAbort();
    };
    const queued: QueuedRequest<Request, Result> = {
      ticket,
      isBackground,
      owner,
      request,
      enqueuedAt: performance.now(),
      position: isBackground ? this.length : this.clientLength,
      toldPosition: Number.POSITIVE_INFINITY,
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
    if (!isBackground) this.#join(account, queued);
    signal.addEventListener("abort", abort);
    return { queued, result: promise };
  }

  /** Charges the owner of a request for a lease that it is granted. */
  charge({
    owner,
    isBackground,
  }: Pick<QueuedRequest<Request, Result>, "owner" | "isBackground">): LeaseMeter {
    const account = this.#open(owner);
    this.#servedTokens = Math.max(this.#servedTokens, account.servedTokens);
    let used = 0;
    let expected = estimateCost(account);
    account.expectedTokens += expected;
    account.leases += 1;
    this.#leases += 1;
    const use = (tokens: number, stillExpected: number): void => {
      used += tokens;
      account.servedTokens += tokens;
      account.expectedTokens += stillExpected - expected;
      expected = stillExpected;
    };
    return {
      add: (promptTokens, outputTokens) => {
        const tokens = promptTokens + outputTokens * this.#outputWeight;
        use(tokens, Math.max(0, expected - tokens));
      },
      measure: (usage, timings) => this.#measure(usage, timings),
      end: () => {
        use(Math.max(0, minLeaseCost - used), 0);
        account.meanLeaseCost = account.meanLeaseCost === 0 ? used : 0.8 * account.meanLeaseCost + 0.2 * used;
        account.leases -= 1;
        if (!isBackground) account.seenAt = performance.now();
        this.#leases -= 1;
      },
    };
  }

  rejectAll(error: unknown, matches: (request: Request) => boolean = () => true): void {
    const all = [...this.#queued, ...this.#background];
    for (const queued of all) if (matches(queued.request)) queued.reject(error);
  }

  #open({ id, priority }: RequestOwner): Account<QueuedRequest<Request, Result>> {
    const account = this.#accounts.get(id) ?? {
      priority,
      servedTokens: 0,
      expectedTokens: 0,
      leases: 0,
      meanLeaseCost: 0,
      seenAt: Number.NEGATIVE_INFINITY,
      waiting: new Set(),
    };
    if (!this.#accounts.has(id)) {
      if (this.#accounts.size >= maxIdleAccounts) this.#forgetIdle();
      this.#accounts.set(id, account);
    }
    account.priority = priority;
    return account;
  }

  #forgetIdle(): void {
    for (const [id, account] of this.#accounts) if (!isActive(account)) this.#accounts.delete(id);
  }

  #join(account: Account<QueuedRequest<Request, Result>>, queued: QueuedRequest<Request, Result>): void {
    if (account.waiting.size === 0) {
      const others = [...this.#accounts.values()].filter(({ waiting }) => waiting.size > 0);
      const lowest = Math.min(...others.map(({ servedTokens }) => servedTokens));
      const floor = others.length === 0 ? this.#servedTokens : lowest;
      account.servedTokens = Math.max(account.servedTokens, floor);
    }
    account.seenAt = queued.enqueuedAt;
    account.waiting.add(queued);
  }

  #isAnyoneExpected(): boolean {
    const since = performance.now() - recentSeconds * 1000;
    return this.#accounts.values().some((account) => !isActive(account) && account.seenAt > since);
  }

  /** All leases share each step of the engine, so that an output token costs only a part of its duration. */
  #measure({ promptTokens, cachedTokens, outputTokens }: Usage, timings: Timings): void {
    const evaluated = promptTokens - cachedTokens;
    const { promptMilliseconds, outputMilliseconds } = timings;
    const isLong = evaluated >= minMeasuredTokens.prompt && outputTokens >= minMeasuredTokens.output;
    if (!isLong || promptMilliseconds <= 0) return;
    const perOutputToken = outputMilliseconds / outputTokens / Math.max(1, this.#leases);
    const measured = perOutputToken / (promptMilliseconds / evaluated);
    const bounded = Math.min(outputWeights.max, Math.max(outputWeights.min, measured));
    this.#outputWeight = 0.95 * this.#outputWeight + 0.05 * bounded;
  }
}

function isActive({ waiting, leases }: Pick<Account<unknown>, "waiting" | "leases">): boolean {
  return waiting.size > 0 || leases > 0;
}

/** As its recent leases. */
function estimateCost({ meanLeaseCost }: Pick<Account<unknown>, "meanLeaseCost">): number {
  return meanLeaseCost === 0 ? defaultLeaseCost : meanLeaseCost;
}

type Turn = Pick<Account<unknown>, "priority" | "servedTokens" | "expectedTokens" | "leases"> & {
  /** Whether it has all slots but one. */
  readonly hasMost: boolean;
  readonly queued: { readonly ticket: number; readonly enqueuedAt: number };
};

type Candidate<Entry> = Turn & { readonly queued: Entry };

/** Negative if the first is served before the second. */
function compareTurns(one: Turn, other: Turn): number {
  if (one.hasMost !== other.hasMost) return one.hasMost ? 1 : -1;
  const priorities = priorityOf(other) - priorityOf(one);
  if (priorities !== 0) return priorities;
  return (
    one.servedTokens + one.expectedTokens - (other.servedTokens + other.expectedTokens) ||
    one.leases - other.leases ||
    one.queued.ticket - other.queued.ticket
  );
}

function priorityOf({ priority, queued }: Turn): number {
  const isOverdue = performance.now() - queued.enqueuedAt > maxPrioritySeconds * 1000;
  return isOverdue ? Number.MAX_SAFE_INTEGER : priority;
}

export type QueueLoad = {
  readonly waiting: number;
  readonly slots: number;
  readonly meanLeaseMilliseconds: number;
};

/** When the last of these requests is served, from the duration of recent leases. */
export function estimateWaitSeconds({ waiting, slots, meanLeaseMilliseconds }: QueueLoad): number {
  return ((meanLeaseMilliseconds / 1000) * waiting) / Math.max(1, slots);
}

/** Estimates when a full queue has room again. */
export function estimateRetrySeconds(load: QueueLoad): number {
  return Math.min(30, Math.max(1, Math.ceil(estimateWaitSeconds(load))));
}
