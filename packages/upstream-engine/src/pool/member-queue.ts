import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { WireError } from "../wire/wire-error.ts";
import { type Candidate, type Choose, medianOf } from "./choose-member.ts";
import type { PoolMember, RunningRequest } from "./pool-member.ts";
import type { PoolTimeouts } from "./retry-policy.ts";

export type MemberRequest = {
  /** The label of the member that has the request's prefix cached. */
  readonly preferred?: string | undefined;
  /** Members on which the request has already failed; they are tried again only if no other is usable. */
  readonly tried: ReadonlySet<PoolMember>;
  readonly mayMove: boolean;
  /** The size of the prompt; undefined if unknown, and then the request never counts as late. */
  readonly characters: number | undefined;
  /** When the request first arrived: a retried request keeps its position in the queue. */
  readonly since: number;
};

export type MemberSlot = {
  readonly member: PoolMember;
  readonly running: RunningRequest;
  /** Aborts the request on this member. */
  readonly abortController: AbortController;
};

export type MemberQueueOptions = {
  readonly members: ReadonlyMap<string, PoolMember>;
  readonly choose: Choose;
  readonly maxRequestsPerEngine: number;
  readonly timeouts: Pick<PoolTimeouts, "anyEngine">;
};

/** Internal: the request moves to another member. */
export class RequestMoved extends Error {}

type Waiter = MemberRequest & { resolve(slot: MemberSlot): void; reject(error: unknown): void };

/** A snapshot of the members between two assignments. */
type MemberView = {
  readonly usable: readonly PoolMember[];
  /** The usable members that are not backing off. */
  readonly ready: readonly PoolMember[];
  /** Labels of the members with a free slot. */
  readonly free: ReadonlySet<string>;
  readonly typicalSeconds: number;
  readonly now: number;
};

/** Expected time to the first token if no member of the pool has responded yet. */
const defaultSeconds = 0.1;

/** Assigns slots on members, first come first served. The scheduler bounds the length of the queue. */
export class MemberQueue {
  readonly #options: MemberQueueOptions;
  readonly #waiters = new Set<Waiter>();
  /** Since when no member has accepted requests. */
  #unavailableSince: number | undefined;
  #newestSince = 0;
  #backoffTimer: NodeJS.Timeout | undefined;

  constructor(options: MemberQueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#waiters.size;
  }

  acquire(request: MemberRequest, signal: AbortSignal): Promise<MemberSlot> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<MemberSlot>();
    const abort = (): void => waiter.reject(signal.reason);
    let timer: NodeJS.Timeout | undefined;
    const dequeue = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      this.#waiters.delete(waiter);
    };
    const waiter: Waiter = {
      ...request,
      resolve(slot) {
        dequeue();
        resolve(slot);
      },
      reject(error) {
        dequeue();
        reject(error);
      },
    };
    const checkTimeout = (): void => {
      const left = this.#millisecondsLeft(waiter);
      if (left > 0) timer = setTimeout(checkTimeout, left).unref();
      else waiter.reject(unavailable());
    };
    signal.addEventListener("abort", abort);
    this.#join(waiter);
    this.advance();
    if (this.#waiters.has(waiter)) checkTimeout();
    return promise;
  }

  /** Assigns free slots to waiting requests. Called after every change of a member. */
  advance(): void {
    this.#updateAvailability();
    if (this.#waiters.size === 0) return;
    let view = this.#createView();
    let noneForPlain = false;
    for (const waiter of this.#waiters) {
      if (view.free.size === 0) break;
      // Requests without a preference get the same result as the previous one, so a long queue costs little.
      const isPlain = waiter.tried.size === 0 && !view.free.has(waiter.preferred ?? "");
      if (isPlain && noneForPlain) continue;
      const member = this.#choose(waiter, view);
      noneForPlain = member === undefined && (noneForPlain || isPlain);
      if (member === undefined) continue;
      waiter.resolve(createSlot(member, waiter));
      if (this.#waiters.size === 0) return;
      view = this.#createView();
    }
    this.#scheduleAfterBackoff(view);
  }

  rejectAll(error: unknown): void {
    for (const waiter of this.#waiters) waiter.reject(error);
  }

  hasFreeSlotBesides(busy: PoolMember): boolean {
    const now = performance.now();
    return this.#usable().some(
      (member) => member !== busy && member.hasFreeSlot(this.#options.maxRequestsPerEngine, now),
    );
  }

  #usable(): readonly PoolMember[] {
    return [...this.#options.members.values()].filter((member) => member.isUsable());
  }

  #join(waiter: Waiter): void {
    const isRetry = waiter.since < this.#newestSince;
    this.#newestSince = Math.max(waiter.since, this.#newestSince);
    const later = isRetry ? [...this.#waiters].filter(({ since }) => since > waiter.since) : [];
    for (const each of [waiter, ...later]) {
      this.#waiters.delete(each);
      this.#waiters.add(each);
    }
  }

  #updateAvailability(): void {
    const isAvailable = this.#options.members.values().some((member) => member.acceptsRequests());
    this.#unavailableSince = isAvailable ? undefined : (this.#unavailableSince ?? performance.now());
  }

  /**
   * The timeout runs only while no engine is available; requests that wait for a slot on a working engine do not time
   * out.
   */
  #millisecondsLeft({ since }: Waiter): number {
    this.#updateAvailability();
    const now = performance.now();
    const from = this.#unavailableSince === undefined ? now : Math.max(since, this.#unavailableSince);
    return from + this.#options.timeouts.anyEngine * 1000 - now;
  }

  /** The end of a backoff triggers no event, so the queue sets a timer for it. */
  #scheduleAfterBackoff({ usable, now }: MemberView): void {
    clearTimeout(this.#backoffTimer);
    const ends = usable.map(({ backoffUntil }) => backoffUntil).filter((end) => end > now);
    if (ends.length === 0 || this.#waiters.size === 0) return;
    this.#backoffTimer = setTimeout(() => this.advance(), Math.min(...ends) - now + 1).unref();
  }

  #createView(): MemberView {
    const now = performance.now();
    const usable = this.#usable();
    const { maxRequestsPerEngine } = this.#options;
    const free = usable
      .filter((member) => member.hasFreeSlot(maxRequestsPerEngine, now))
      .map(({ label }) => label);
    const known = usable.flatMap((member) => member.expectedSeconds(now, 0) ?? []);
    const typicalSeconds = known.length === 0 ? defaultSeconds : medianOf(known);
    const ready = usable.filter((member) => !member.isBackingOff(now));
    return { usable, ready, free: new Set(free), typicalSeconds, now };
  }

  /**
   * Undefined if the member expected to respond first has no free slot: a slow member with a free slot would take
   * longer.
   */
  #choose({ preferred, tried }: Waiter, view: MemberView): PoolMember | undefined {
    const eligible = eligibleOf(tried, view);
    if (eligible.length === 0) return undefined;
    // A recovered member gets a request at once; under light load it might never be tested otherwise.
    const onTrial = eligible.find(({ state, label }) => state === "trial" && view.free.has(label));
    if (onTrial !== undefined) return onTrial;
    const chosen = this.#options.choose(this.#describe(eligible, view), preferred);
    const member = eligible.find(({ label }) => label === chosen?.label);
    return member !== undefined && view.free.has(member.label) ? member : undefined;
  }

  #describe(eligible: readonly PoolMember[], { now, typicalSeconds }: MemberView): readonly Candidate[] {
    return eligible.map((member) => ({
      label: member.label,
      outstanding: member.running.size,
      limit: member.slotLimit(this.#options.maxRequestsPerEngine),
      expectedSeconds: member.expectedSeconds(now, typicalSeconds) ?? typicalSeconds,
      pendingSeconds: member.pendingSeconds(now),
      isSuspected: member.state === "suspected" || !member.acceptsRequests(),
      usedAt: member.usedAt,
    }));
  }
}

/**
 * A member on which the request failed is not tried again while another one is usable, even if that one is backing off.
 */
function eligibleOf(tried: MemberRequest["tried"], { usable, ready }: MemberView): readonly PoolMember[] {
  if (tried.size === 0) return ready;
  const isTried = (member: PoolMember): boolean => tried.has(member);
  return usable.every(isTried) ? ready : ready.filter((member) => !isTried(member));
}

function createSlot(member: PoolMember, { mayMove, characters }: MemberRequest): MemberSlot {
  const abortController = new AbortController();
  const running: RunningRequest = {
    startedAt: performance.now(),
    mayMove,
    characters,
    hasBegun: false,
    pendingSince: undefined,
    move: () => abortController.abort(new RequestMoved()),
    fail: () => abortController.abort(new WireError({ kind: "interrupted" })),
  };
  member.addRequest(running);
  return { member, running, abortController };
}

export function unavailable(cause?: unknown): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "engines-unavailable", retryAfterSeconds: 5 }, { cause });
}
