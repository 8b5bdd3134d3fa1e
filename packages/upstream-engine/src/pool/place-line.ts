import { FailureError } from "@hearth-and-keep/failures";
import type { EngineFailure } from "@hearth-and-keep/llama-engine";
import { type Candidate, type Choose, medianOf } from "./choose-member.ts";
import type { PoolMember, Running } from "./pool-member.ts";

export type PlaceWish = {
  /** Who has read the beginning of the request. */
  readonly preferred?: string | undefined;
  /** Members that failed it already; they are asked again only when nobody else is there. */
  readonly tried: ReadonlySet<PoolMember>;
  readonly mayMove: boolean;
  /** How much there is to read; undefined when nobody can say, and then it is never late. */
  readonly characters: number | undefined;
};

export type Place = {
  readonly member: PoolMember;
  readonly running: Running;
  /** Ends the request on this member. */
  readonly ending: AbortController;
};

export type PlaceLineParts = {
  readonly members: ReadonlyMap<string, PoolMember>;
  readonly choose: Choose;
  readonly mostRequests: number;
};

/** The caller's request goes elsewhere; nobody sees this. */
export class MovedOn extends Error {}

type Waiter = PlaceWish & { give(place: Place): void; refuse(problem: unknown): void };

/** How long a request waits for an engine to come back when none is there. */
const patienceMilliseconds = 10_000;
/** Of a member that has not answered yet, in a pool where nobody has. */
const unknownSeconds = 0.1;

/** Gives out places on members, first come first served. The line is bounded by whoever lends the pool. */
export class PlaceLine {
  readonly #parts: PlaceLineParts;
  readonly #waiters = new Set<Waiter>();

  constructor(parts: PlaceLineParts) {
    this.#parts = parts;
  }

  get length(): number {
    return this.#waiters.size;
  }

  take(wish: PlaceWish, signal: AbortSignal): Promise<Place> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Place>();
    const hangUp = (): void => waiter.refuse(signal.reason);
    const impatience = setTimeout(() => this.#giveUp(waiter), patienceMilliseconds);
    impatience.unref();
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
    signal.addEventListener("abort", hangUp);
    this.#waiters.add(waiter);
    this.advance();
    return promise;
  }

  /** Everyone who can be served now is. */
  advance(): void {
    for (const waiter of this.#waiters) {
      const member = this.#choose(waiter);
      if (member !== undefined) waiter.give(placeOn(member, waiter));
    }
  }

  refuseAll(problem: unknown): void {
    for (const waiter of this.#waiters) waiter.refuse(problem);
  }

  hasFreePlaceBeside(busy: PoolMember): boolean {
    return this.#usable().some((member) => member !== busy && member.hasPlace(this.#parts.mostRequests));
  }

  #usable(): readonly PoolMember[] {
    return [...this.#parts.members.values()].filter((member) => member.isUsable());
  }

  /** Nobody, when the one that can be expected to answer first has no place: a slow one that is free is no help. */
  #choose({ preferred, tried }: Waiter): PoolMember | undefined {
    const usable = this.#usable();
    const fresh = usable.filter((member) => !tried.has(member));
    const eligible = fresh.length > 0 ? fresh : usable;
    if (eligible.length === 0) return undefined;
    // One that came back is asked at once, or with little to do nobody would ever find out.
    const onTrial = eligible.find(({ state, running }) => state === "trial" && running.size === 0);
    if (onTrial !== undefined) return onTrial;
    const chosen = this.#parts.choose(this.#describe(eligible), preferred);
    const member = eligible.find(({ label }) => label === chosen?.label);
    return member?.hasPlace(this.#parts.mostRequests) === true ? member : undefined;
  }

  #describe(eligible: readonly PoolMember[]): readonly Candidate[] {
    const now = performance.now();
    const known = this.#usable().flatMap((member) => member.rememberedSeconds(now, 0) ?? []);
    const usual = known.length === 0 ? unknownSeconds : medianOf(known);
    return eligible.map((member) => ({
      label: member.label,
      outstanding: member.running.size,
      limit: member.placesOf(this.#parts.mostRequests),
      expectedSeconds: member.rememberedSeconds(now, usual) ?? usual,
      pendingSeconds: member.pendingSeconds(now),
      isSuspected: member.state === "suspected",
      usedAt: member.usedAt,
    }));
  }

  /** Those who wait for a place among engines that work wait on; those who wait for any engine do not. */
  #giveUp(waiter: Waiter): void {
    if (this.#usable().length > 0) return;
    waiter.refuse(new FailureError<EngineFailure>({ kind: "engines-unavailable", retryAfterSeconds: 5 }));
  }
}

function placeOn(member: PoolMember, { mayMove, characters }: PlaceWish): Place {
  const ending = new AbortController();
  const running: Running = {
    startedAt: performance.now(),
    mayMove,
    characters,
    hasBegun: false,
    pendingSince: undefined,
    moveOn: () => ending.abort(new MovedOn()),
  };
  member.take(running);
  return { member, running, ending };
}
