import type { RemoteEngine, RemoteFacts } from "../remote/remote-engine.ts";
import type { PoolTimeouts } from "./retry-policy.ts";

/**
 *   unknown --is well--> healthy --fails--> suspected --answers, or is well for a while--> healthy
 *   suspected --fails for the third time in a row--> open
 *   any --is not well, or nobody is there--> open
 *   open --is well, after a pause that grows--> trial --answers--> healthy
 *   trial --fails, is busy, or is too slow--> open
 *
 * Beside that, one that says it has too much to do rests for a while, whatever its state is. Behind its rest one request
 * at a time is asked of it, until it answers one.
 */
export type MemberState = "unknown" | "healthy" | "suspected" | "open" | "trial";

export type MemberSource = {
  /** Its address without credentials, by which it is known in metrics and to the pool; no other has the same. */
  readonly label: string;
  readonly engine: RemoteEngine;
  /** Gives its connections back. */
  readonly close: () => void;
};

/** One answer under way on a member. */
export type Running = {
  readonly startedAt: number;
  /** It has not gone elsewhere before because a member was slow: once is enough, or it would never be answered. */
  readonly mayMove: boolean;
  /** How much there is to read for it; undefined when nobody can say. */
  readonly characters: number | undefined;
  hasBegun: boolean;
  /** Since when its next event is waited for; undefined while its reader is busy. */
  pendingSince: number | undefined;
  /** Ends it here, so that it goes to another member or fails. */
  readonly moveOn: () => void;
  /** Ends it as one whose engine broke. */
  readonly breakOff: () => void;
};

type NotWell = {
  readonly askedAt: number;
  /** Nobody else may be asked. */
  readonly isLast: boolean;
  readonly patience: Pick<PoolTimeouts, "unwell">;
};

const failuresToOpen = 3;
const firstPauseSeconds = 2;
const longestPauseSeconds = 5;
/** How much the newest time to a first token counts. */
const newestShare = 0.3;
/** A time that was not seen again for so long counts half. */
const forgettingSeconds = 30;
/** Doubled each time that it is still busy behind its rest. */
const restSeconds = { first: 0.25, most: 5, mostAskedFor: 10 } as const;
/** One that nobody asks any more cannot show that it is better, so its health is believed after a while. */
const forgivingSeconds = 10;

/** One engine of a pool: whether it is to be trusted, what it has to do, and how fast it was of late. */
export class PoolMember {
  readonly label: string;
  readonly engine: RemoteEngine;
  readonly running = new Set<Running>();
  readonly counts = { requests: 0, failures: 0, retries: 0 };
  facts: RemoteFacts | undefined;
  /** It left the list of addresses: it finishes what it has and gets nothing more. */
  isDraining = false;
  #state: MemberState = "unknown";
  #failuresInRow = 0;
  #pauseSeconds = firstPauseSeconds;
  #firstTokenSeconds: number | undefined;
  #usedAt = 0;
  #heardAt = 0;
  #failedAt = 0;
  #restsUntil = 0;
  #restsInRow = 0;
  #isClosed = false;
  readonly #close: () => void;

  constructor({ label, engine, close }: MemberSource) {
    this.label = label;
    this.engine = engine;
    this.#close = close;
  }

  get state(): MemberState {
    return this.#state;
  }

  get usedAt(): number {
    return this.#usedAt;
  }

  /** When something of it arrived last. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** When it is to be asked again how it is, if it was not well. */
  get pauseSeconds(): number {
    return this.#pauseSeconds;
  }

  get restsUntil(): number {
    return this.#restsUntil;
  }

  /** Its connections are given back: it is asked nothing any more, not even how it is. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  isUsable(): boolean {
    return !this.isDraining && this.#state !== "unknown" && this.#state !== "open";
  }

  /** Whether it takes requests, as far as it said; one that rests does not. */
  takesRequests(): boolean {
    return this.isUsable() && this.#restsInRow === 0;
  }

  /** One that comes back shows with one request that it can answer, beside those that it has kept all the time. */
  placesOf(limit: number): number {
    if (this.#state !== "trial") return limit;
    return Math.min(limit, 1 + [...this.running].filter(({ hasBegun }) => hasBegun).length);
  }

  hasPlace(limit: number, now: number): boolean {
    return this.running.size < this.placesOf(limit) && !this.isResting(now);
  }

  /** Also while the one request is under way that shows whether it takes more. */
  isResting(now: number): boolean {
    if (this.#restsInRow === 0) return false;
    return this.#restsUntil > now || [...this.running].some(({ hasBegun }) => !hasBegun);
  }

  /** Undefined before it has answered once; what was not seen again for long is forgotten for what is usual. */
  rememberedSeconds(now: number, usual: number): number | undefined {
    if (this.#firstTokenSeconds === undefined) return undefined;
    const remembered = 0.5 ** ((now - this.#usedAt) / 1000 / forgettingSeconds);
    return usual + (this.#firstTokenSeconds - usual) * remembered;
  }

  /** How long the oldest of those has waited that nobody has heard of yet. */
  pendingSeconds(now: number): number {
    const waits = [...this.running].map((each) => (each.hasBegun ? 0 : now - each.startedAt));
    return Math.max(0, ...waits) / 1000;
  }

  take(running: Running): void {
    this.running.add(running);
    this.counts.requests += 1;
    this.#usedAt = running.startedAt;
  }

  giveBack(running: Running): void {
    this.running.delete(running);
    if (this.isDraining) this.drain();
  }

  drain(): void {
    this.isDraining = true;
    if (this.running.size > 0 || this.#isClosed) return;
    this.#isClosed = true;
    this.#close();
  }

  /** Its address is listed again before it was empty. */
  takeBack(): void {
    this.isDraining = false;
  }

  /** Something arrived from it, so it lives. */
  hear(): void {
    this.#heardAt = performance.now();
  }

  /** Gives how long its first token took; undefined when it failed meanwhile, which says nothing of its speed. */
  answer({ startedAt }: Pick<Running, "startedAt">): number | undefined {
    const now = performance.now();
    const seconds = this.#failedAt > startedAt ? undefined : (now - startedAt) / 1000;
    if (seconds !== undefined) {
      const before = this.#firstTokenSeconds ?? seconds;
      this.#firstTokenSeconds = newestShare * seconds + (1 - newestShare) * before;
    }
    this.#usedAt = now;
    this.#failuresInRow = 0;
    this.#restsInRow = 0;
    this.#pauseSeconds = firstPauseSeconds;
    if (this.#state === "suspected" || this.#state === "trial") this.#state = "healthy";
    return seconds;
  }

  fail(standing: "failed" | "gone"): void {
    this.counts.failures += 1;
    this.#failedAt = performance.now();
    this.#failuresInRow += 1;
    const isOver = standing === "gone" || this.#state === "trial" || this.#failuresInRow >= failuresToOpen;
    if (isOver) this.#open();
    else if (this.#state === "healthy") this.#state = "suspected";
  }

  /** It has too much to do. All that it refuses at once is one refusal, so its rest grows only behind a rest. */
  isBusy(retryAfterSeconds = 0): void {
    this.endTrial();
    const now = performance.now();
    const isResting = this.#restsInRow > 0 && this.#restsUntil > now;
    const times = isResting ? this.#restsInRow - 1 : this.#restsInRow;
    const grown = Math.min(restSeconds.most, restSeconds.first * 2 ** times);
    const seconds = Math.max(grown, Math.min(restSeconds.mostAskedFor, retryAfterSeconds));
    this.#restsInRow = times + 1;
    this.#restsUntil = Math.max(this.#restsUntil, now + seconds * 1000);
  }

  /** The request that should show that it can answer did not. */
  endTrial(): void {
    if (this.#state === "trial") this.#open();
  }

  /** It has fallen silent: it is asked on only when nobody else is free, until it answers or is well for a while. */
  suspect(): void {
    this.#failedAt = performance.now();
    if (this.#state === "healthy") this.#state = "suspected";
  }

  isWell(): void {
    this.hear();
    if (this.#state === "unknown") this.#state = "healthy";
    if (this.#state === "open") this.#state = "trial";
    const forgivenSince = performance.now() - forgivingSeconds * 1000;
    if (this.#state === "suspected" && this.#failedAt < forgivenSince) this.#state = "healthy";
    if (this.#restsUntil < forgivenSince) this.#restsInRow = 0;
  }

  /**
   * One that wrote something since it was asked is only slow to say that it is well. The last one that may be asked is
   * asked on: engines of a machine that has too much to do are all slow to say so, and still answer.
   */
  isNotWell({ askedAt, isLast, patience }: NotWell): void {
    if (this.#heardAt > askedAt) return;
    if (isLast && this.isUsable()) {
      this.#state = "suspected";
      this.#failedAt = performance.now();
    } else if (this.#state === "open")
      this.#pauseSeconds = Math.min(longestPauseSeconds, this.#pauseSeconds * 1.5);
    else if (this.#state !== "unknown") this.#open();
    for (const each of this.silentFor(() => patience.unwell)) each.moveOn();
  }

  /** Those whose next event has been waited for longer than so many seconds. */
  silentFor(seconds: (running: Running) => number): readonly Running[] {
    const now = performance.now();
    return [...this.running].filter((each) => now - (each.pendingSince ?? now) > seconds(each) * 1000);
  }

  #open(): void {
    if (this.#state === "open") return;
    if (this.#state === "trial") {
      this.#pauseSeconds = Math.min(longestPauseSeconds, this.#pauseSeconds * 1.5);
    }
    this.#state = "open";
    this.#failedAt = performance.now();
    // Whoever comes back may be another one.
    this.engine.forget();
    // Nobody has seen anything of these yet, so they can be answered elsewhere.
    for (const each of this.running) if (!each.hasBegun) each.moveOn();
  }
}
