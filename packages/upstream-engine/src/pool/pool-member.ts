import type { RemoteEngine, RemoteFacts } from "../remote/remote-engine.ts";

/**
 *   unknown --is well--> healthy --fails--> suspected --answers, or is well for a while--> healthy
 *   suspected --fails for the third time in a row--> open
 *   any --is not well, or nobody is there--> open
 *   open --is well, after a pause that grows--> trial --answers--> healthy
 *   trial --fails--> open
 */
export type MemberState = "unknown" | "healthy" | "suspected" | "open" | "trial";

export type MemberSource = {
  /** Its address without credentials, by which it is known in metrics and to the pool. */
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
};

const failuresToOpen = 3;
const firstPauseSeconds = 2;
const longestPauseSeconds = 5;
/** How much the newest time to a first token counts. */
const newestShare = 0.3;
/** A time that was not seen again for so long counts half. */
const forgettingSeconds = 30;
const longestSilenceSeconds = 10;
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

  isUsable(): boolean {
    return !this.isDraining && this.#state !== "unknown" && this.#state !== "open";
  }

  /** One that comes back shows with one request that it can answer. */
  placesOf(limit: number): number {
    return this.#state === "trial" ? 1 : limit;
  }

  hasPlace(limit: number): boolean {
    return this.running.size < this.placesOf(limit);
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
    if (this.isDraining && this.running.size === 0) this.#close();
  }

  drain(): void {
    this.isDraining = true;
    if (this.running.size === 0) this.#close();
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

  /** It has fallen silent: it is asked on only when nobody else is free, until it answers or is well for a while. */
  suspect(): void {
    this.#failedAt = performance.now();
    if (this.#state === "healthy") this.#state = "suspected";
  }

  isWell(): void {
    this.hear();
    if (this.#state === "unknown") this.#state = "healthy";
    if (this.#state === "open") this.#state = "trial";
    const isForgiven = performance.now() - this.#failedAt > forgivingSeconds * 1000;
    if (this.#state === "suspected" && isForgiven) this.#state = "healthy";
  }

  /**
   * One that wrote something since it was asked is only slow to say that it is well. The last one that may be asked is
   * asked on: engines of a machine that has too much to do are all slow to say so, and still answer.
   */
  isNotWell({ askedAt, isLast }: { readonly askedAt: number; readonly isLast: boolean }): void {
    if (this.#heardAt > askedAt) return;
    if (isLast && this.isUsable()) {
      this.#state = "suspected";
      this.#failedAt = performance.now();
    } else if (this.#state === "open")
      this.#pauseSeconds = Math.min(longestPauseSeconds, this.#pauseSeconds * 1.5);
    else if (this.#state !== "unknown") this.#open();
    const silentSince = performance.now() - longestSilenceSeconds * 1000;
    for (const each of this.running) {
      if ((each.pendingSince ?? Number.POSITIVE_INFINITY) < silentSince) each.moveOn();
    }
  }

  #open(): void {
    if (this.#state === "open") return;
    if (this.#state === "trial") {
      this.#pauseSeconds = Math.min(longestPauseSeconds, this.#pauseSeconds * 1.5);
    }
    this.#state = "open";
    this.#failedAt = performance.now();
    // Nobody has seen anything of these yet, so they can be answered elsewhere.
    for (const each of this.running) if (!each.hasBegun) each.moveOn();
  }
}
