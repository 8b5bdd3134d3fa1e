import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { WireError } from "../wire/wire-error.ts";
import { type Candidate, type Choose, medianOf } from "./choose-member.ts";
import type { PoolMember, Running } from "./pool-member.ts";
import type { PoolTimeouts } from "./retry-policy.ts";

export type MemberRequest = {
  /** Who has read the beginning of the request. */
  readonly preferred?: string | undefined;
  /** Members that failed it already; they are asked again only when nobody else is there. */
  readonly tried: ReadonlySet<PoolMember>;
  readonly mayMove: boolean;
  /** How much there is to read; undefined when nobody can say, and then it is never late. */
  readonly characters: number | undefined;
  /** When it came first: one that comes back stands where it stood. */
  readonly since: number;
};

export type MemberSlot = {
  readonly member: PoolMember;
  readonly running: Running;
  /** Ends the request on this member. */
  readonly ending: AbortController;
};

export type MemberQueueOptions = {
  readonly members: ReadonlyMap<string, PoolMember>;
  readonly choose: Choose;
  readonly mostRequests: number;
  readonly patience: Pick<PoolTimeouts, "anyEngine">;
};

/** The caller's request goes elsewhere; nobody sees this. */
export class MovedOn extends Error {}

type Waiter = MemberRequest & { give(place: MemberSlot): void; refuse(problem: unknown): void };

/** The members as they are between two placements. */
type View = {
  readonly usable: readonly PoolMember[];
  /** Those of them that do not rest. */
  readonly awake: readonly PoolMember[];
  /** Labels of those with a place. */
  readonly free: ReadonlySet<string>;
  readonly usualSeconds: number;
  readonly now: number;
};

/** Of a member that has not answered yet, in a pool where nobody has. */
const unknownSeconds = 0.1;

/** Gives out places on members, first come first served. The line is bounded by whoever lends the pool. */
export class MemberQueue {
  readonly #parts: MemberQueueOptions;
  readonly #waiters = new Set<Waiter>();
  /** Since when no member takes requests. */
  #noneSince: number | undefined;
  #newestSince = 0;
  #endOfRest: NodeJS.Timeout | undefined;

  constructor(parts: MemberQueueOptions) {
    this.#parts = parts;
  }

  get length(): number {
    return this.#waiters.size;
  }

  take(wish: MemberRequest, signal: AbortSignal): Promise<MemberSlot> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<MemberSlot>();
    const hangUp = (): void => waiter.refuse(signal.reason);
    let impatience: NodeJS.Timeout | undefined;
    const leave = (): void => {
      clearTimeout(impatience);
      signal.removeEventListener("abort", hangUp);
      this.#waiters.delete(waiter);
    };
    const waiter: Waiter = {
      ...wish,
      give(place) {
        leave();
        resolve(place);
      },
      refuse(problem) {
        leave();
        reject(problem);
      },
    };
    const lookAround = (): void => {
      const left = this.#patienceLeft(waiter);
      if (left > 0) impatience = setTimeout(lookAround, left).unref();
      else waiter.refuse(unavailable());
    };
    signal.addEventListener("abort", hangUp);
    this.#join(waiter);
    this.advance();
    if (this.#waiters.has(waiter)) lookAround();
    return promise;
  }

  /** Everyone who can be served now is. Called after every change of a member. */
  advance(): void {
    this.#noteTakers();
    if (this.#waiters.size === 0) return;
    let view = this.#look();
    let isSettled = false;
    for (const waiter of this.#waiters) {
      if (view.free.size === 0) break;
      // Whom nobody prefers is answered as the one before it was, so a long line costs little.
      const isPlain = waiter.tried.size === 0 && !view.free.has(waiter.preferred ?? "");
      if (isPlain && isSettled) continue;
      const member = this.#choose(waiter, view);
      isSettled = member === undefined && (isSettled || isPlain);
      if (member === undefined) continue;
      waiter.give(placeOn(member, waiter));
      if (this.#waiters.size === 0) return;
      view = this.#look();
    }
    this.#waitForRest(view);
  }

  refuseAll(problem: unknown): void {
    for (const waiter of this.#waiters) waiter.refuse(problem);
  }

  hasFreePlaceBeside(busy: PoolMember): boolean {
    const now = performance.now();
    return this.#usable().some((member) => member !== busy && member.hasPlace(this.#parts.mostRequests, now));
  }

  #usable(): readonly PoolMember[] {
    return [...this.#parts.members.values()].filter((member) => member.isUsable());
  }

  #join(waiter: Waiter): void {
    const isBack = waiter.since < this.#newestSince;
    this.#newestSince = Math.max(waiter.since, this.#newestSince);
    const behind = isBack ? [...this.#waiters].filter(({ since }) => since > waiter.since) : [];
    for (const each of [waiter, ...behind]) {
      this.#waiters.delete(each);
      this.#waiters.add(each);
    }
  }

  #noteTakers(): void {
    const takes = this.#parts.members.values().some((member) => member.takesRequests());
    this.#noneSince = takes ? undefined : (this.#noneSince ?? performance.now());
  }

  /** Those who wait for a place among engines that work wait on; those who wait for any engine do not. */
  #patienceLeft({ since }: Waiter): number {
    this.#noteTakers();
    const now = performance.now();
    const from = this.#noneSince === undefined ? now : Math.max(since, this.#noneSince);
    return from + this.#parts.patience.anyEngine * 1000 - now;
  }

  /** Nobody says when a rest ends, so the line looks itself. */
  #waitForRest({ usable, now }: View): void {
    clearTimeout(this.#endOfRest);
    const ends = usable.map(({ restsUntil }) => restsUntil).filter((end) => end > now);
    if (ends.length === 0 || this.#waiters.size === 0) return;
    this.#endOfRest = setTimeout(() => this.advance(), Math.min(...ends) - now + 1).unref();
  }

  #look(): View {
    const now = performance.now();
    const usable = this.#usable();
    const { mostRequests } = this.#parts;
    const free = usable.filter((member) => member.hasPlace(mostRequests, now)).map(({ label }) => label);
    const known = usable.flatMap((member) => member.rememberedSeconds(now, 0) ?? []);
    const usualSeconds = known.length === 0 ? unknownSeconds : medianOf(known);
    const awake = usable.filter((member) => !member.isResting(now));
    return { usable, awake, free: new Set(free), usualSeconds, now };
  }

  /** Nobody, when the one that can be expected to answer first has no place: a slow one that is free is no help. */
  #choose({ preferred, tried }: Waiter, view: View): PoolMember | undefined {
    const eligible = eligibleOf(tried, view);
    if (eligible.length === 0) return undefined;
    // One that came back is asked at once, or with little to do nobody would ever find out.
    const onTrial = eligible.find(({ state, label }) => state === "trial" && view.free.has(label));
    if (onTrial !== undefined) return onTrial;
    const chosen = this.#parts.choose(this.#describe(eligible, view), preferred);
    const member = eligible.find(({ label }) => label === chosen?.label);
    return member !== undefined && view.free.has(member.label) ? member : undefined;
  }

  #describe(eligible: readonly PoolMember[], { now, usualSeconds }: View): readonly Candidate[] {
    return eligible.map((member) => ({
      label: member.label,
      outstanding: member.running.size,
      limit: member.placesOf(this.#parts.mostRequests),
      expectedSeconds: member.rememberedSeconds(now, usualSeconds) ?? usualSeconds,
      pendingSeconds: member.pendingSeconds(now),
      isSuspected: member.state === "suspected" || !member.takesRequests(),
      usedAt: member.usedAt,
    }));
  }
}

/** One that failed the request is not asked again while another may still be, if only behind its rest. */
function eligibleOf(tried: MemberRequest["tried"], { usable, awake }: View): readonly PoolMember[] {
  if (tried.size === 0) return awake;
  const isTried = (member: PoolMember): boolean => tried.has(member);
  return usable.every(isTried) ? awake : awake.filter((member) => !isTried(member));
}

function placeOn(member: PoolMember, { mayMove, characters }: MemberRequest): MemberSlot {
  const ending = new AbortController();
  const running: Running = {
    startedAt: performance.now(),
    mayMove,
    characters,
    hasBegun: false,
    pendingSince: undefined,
    moveOn: () => ending.abort(new MovedOn()),
    breakOff: () => ending.abort(new WireError({ kind: "cut-off" })),
  };
  member.take(running);
  return { member, running, ending };
}

export function unavailable(cause?: unknown): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "engines-unavailable", retryAfterSeconds: 5 }, { cause });
}
