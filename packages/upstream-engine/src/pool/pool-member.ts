import type { RemoteEngine, RemoteFacts } from "../remote/remote-engine.ts";
import type { PoolTimeouts } from "./retry-policy.ts";

/**
 * Circuit breaker of a member:
 *
 *   unknown --health check passes--> healthy --request fails--> suspected
 *   suspected --responds, or stays healthy for a while--> healthy
 *   suspected --third failure in a row--> open
 *   any --health check fails, or unreachable--> open
 *   open --health check passes, after a growing pause--> trial --responds--> healthy
 *   trial --fails, is busy, or is too slow--> open
 *
 * Independently of its state, a member that reports that it is busy backs off for a while. Afterwards it gets one request
 * at a time until it responds to one.
 */
export type MemberState = "unknown" | "healthy" | "suspected" | "open" | "trial";

export type MemberSource = {
  /** Its address without credentials: its unique name in the pool and in metrics. */
  readonly label: string;
  readonly engine: RemoteEngine;
  /** Closes its connections. */
  readonly close: () => void;
};

/** A request in progress on a member. */
export type RunningRequest = {
  readonly startedAt: number;
  /** False after a move away from a slow member: a request moves only once, so that it eventually completes. */
  readonly mayMove: boolean;
  /** The size of its prompt; undefined if unknown. */
  readonly characters: number | undefined;
  hasBegun: boolean;
  /** Since when it has been waiting for its next event; undefined while the consumer is busy. */
  pendingSince: number | undefined;
  /** Aborts it here, so that it moves to another member or fails. */
  readonly move: () => void;
  /** Aborts it as if the engine had failed. */
  readonly fail: () => void;
};

type FailedCheck = {
  readonly startedAt: number;
  /** Whether no other member is usable. */
  readonly isLast: boolean;
  readonly timeouts: Pick<PoolTimeouts, "unhealthy">;
};

const failuresToOpen = 3;
const firstPauseSeconds = 2;
const maxPauseSeconds = 5;
/** The weight of the newest time to a first token. */
const newestWeight = 0.3;
/** After this long without a new measurement, the measured time counts half. */
const halfLifeSeconds = 30;
/** Doubled each time the member is still busy after its backoff. */
const backoffSeconds = { first: 0.25, max: 5, maxRetryAfter: 10 } as const;
/** A member that gets no requests cannot prove that it works, so after a while a passing health check suffices. */
const recoverySeconds = 10;

/** One engine of a pool: its health, its running requests and its recent speed. */
export class PoolMember {
  readonly label: string;
  readonly engine: RemoteEngine;
  readonly running = new Set<RunningRequest>();
  readonly counts = { requests: 0, failures: 0, retries: 0 };
  facts: RemoteFacts | undefined;
  /** Set when its address is no longer listed: it finishes its requests and gets no new ones. */
  isDraining = false;
  #state: MemberState = "unknown";
  #consecutiveFailures = 0;
  #pauseSeconds = firstPauseSeconds;
  #firstTokenSeconds: number | undefined;
  #usedAt = 0;
  #lastActivityAt = 0;
  #failedAt = 0;
  #backoffUntil = 0;
  #consecutiveBackoffs = 0;
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

  /** When it last sent something. */
  get lastActivityAt(): number {
    return this.#lastActivityAt;
  }

  /** Time until the next health check after a failed one. */
  get pauseSeconds(): number {
    return this.#pauseSeconds;
  }

  get backoffUntil(): number {
    return this.#backoffUntil;
  }

  /** Its connections are closed, so it gets no requests and no health checks. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  isUsable(): boolean {
    return !this.isDraining && this.#state !== "unknown" && this.#state !== "open";
  }

  /** Whether it accepts requests as far as known; a member that is backing off does not. */
  acceptsRequests(): boolean {
    return this.isUsable() && this.#consecutiveBackoffs === 0;
  }

  /** A member on trial gets one request, in addition to those that are already streaming. */
  slotLimit(limit: number): number {
    if (this.#state !== "trial") return limit;
    return Math.min(limit, 1 + [...this.running].filter(({ hasBegun }) => hasBegun).length);
  }

  hasFreeSlot(limit: number, now: number): boolean {
    return this.running.size < this.slotLimit(limit) && !this.isBackingOff(now);
  }

  /** Also true while the single request after a backoff has not produced output yet. */
  isBackingOff(now: number): boolean {
    if (this.#consecutiveBackoffs === 0) return false;
    return this.#backoffUntil > now || [...this.running].some(({ hasBegun }) => !hasBegun);
  }

  /** Undefined before its first response. An old measurement decays towards the typical time of the pool. */
  expectedSeconds(now: number, typical: number): number | undefined {
    if (this.#firstTokenSeconds === undefined) return undefined;
    const weight = 0.5 ** ((now - this.#usedAt) / 1000 / halfLifeSeconds);
    return typical + (this.#firstTokenSeconds - typical) * weight;
  }

  /** How long the oldest request without output has been waiting. */
  pendingSeconds(now: number): number {
    const waits = [...this.running].map((each) => (each.hasBegun ? 0 : now - each.startedAt));
    return Math.max(0, ...waits) / 1000;
  }

  addRequest(running: RunningRequest): void {
    this.running.add(running);
    this.counts.requests += 1;
    this.#usedAt = running.startedAt;
  }

  removeRequest(running: RunningRequest): void {
    this.running.delete(running);
    if (this.isDraining) this.drain();
  }

  drain(): void {
    this.isDraining = true;
    if (this.running.size > 0 || this.#isClosed) return;
    this.#isClosed = true;
    this.#close();
  }

  /** Called if its address is listed again before it has drained. */
  reinstate(): void {
    this.isDraining = false;
  }

  /** Called when anything arrives from the engine. */
  recordActivity(): void {
    this.#lastActivityAt = performance.now();
  }

  /**
   * Returns the time to the first token; undefined if the member failed in the meantime, because then it is not
   * meaningful.
   */
  recordFirstToken({ startedAt }: Pick<RunningRequest, "startedAt">): number | undefined {
    const now = performance.now();
    const seconds = this.#failedAt > startedAt ? undefined : (now - startedAt) / 1000;
    if (seconds !== undefined) {
      const previous = this.#firstTokenSeconds ?? seconds;
      this.#firstTokenSeconds = newestWeight * seconds + (1 - newestWeight) * previous;
    }
    this.#usedAt = now;
    this.#consecutiveFailures = 0;
    this.#consecutiveBackoffs = 0;
    this.#pauseSeconds = firstPauseSeconds;
    if (this.#state === "suspected" || this.#state === "trial") this.#state = "healthy";
    return seconds;
  }

  recordFailure(condition: "failed" | "unreachable"): void {
    this.counts.failures += 1;
    this.#failedAt = performance.now();
    this.#consecutiveFailures += 1;
    const opensBreaker =
      condition === "unreachable" || this.#state === "trial" || this.#consecutiveFailures >= failuresToOpen;
    if (opensBreaker) this.#open();
    else if (this.#state === "healthy") this.#state = "suspected";
  }

  /** Several rejections at once count as one, so the backoff grows only after a completed backoff. */
  recordBusy(retryAfterSeconds = 0): void {
    this.failTrial();
    const now = performance.now();
    const isBackingOff = this.#consecutiveBackoffs > 0 && this.#backoffUntil > now;
    const times = isBackingOff ? this.#consecutiveBackoffs - 1 : this.#consecutiveBackoffs;
    const backoff = Math.min(backoffSeconds.max, backoffSeconds.first * 2 ** times);
    const seconds = Math.max(backoff, Math.min(backoffSeconds.maxRetryAfter, retryAfterSeconds));
    this.#consecutiveBackoffs = times + 1;
    this.#backoffUntil = Math.max(this.#backoffUntil, now + seconds * 1000);
  }

  /** The trial request did not succeed. */
  failTrial(): void {
    if (this.#state === "trial") this.#open();
  }

  /**
   * The member is unresponsive: it is used only if no other is free, until it responds or stays healthy for a while.
   */
  suspect(): void {
    this.#failedAt = performance.now();
    if (this.#state === "healthy") this.#state = "suspected";
  }

  recordHealthy(): void {
    this.recordActivity();
    if (this.#state === "unknown") this.#state = "healthy";
    if (this.#state === "open") this.#state = "trial";
    const recoveredBefore = performance.now() - recoverySeconds * 1000;
    if (this.#state === "suspected" && this.#failedAt < recoveredBefore) this.#state = "healthy";
    if (this.#backoffUntil < recoveredBefore) this.#consecutiveBackoffs = 0;
  }

  /**
   * A member that has sent something since the check started is healthy, only its health endpoint is slow. The last usable
   * member stays in use: on an overloaded machine all health checks are slow, but the engines still respond.
   */
  recordUnhealthy({ startedAt, isLast, timeouts }: FailedCheck): void {
    if (this.#lastActivityAt > startedAt) return;
    if (isLast && this.isUsable()) {
      this.#state = "suspected";
      this.#failedAt = performance.now();
    } else if (this.#state === "open")
      this.#pauseSeconds = Math.min(maxPauseSeconds, this.#pauseSeconds * 1.5);
    else if (this.#state !== "unknown") this.#open();
    for (const each of this.silentRequests(() => timeouts.unhealthy)) each.move();
  }

  /** The requests that have been waiting for their next event longer than the given number of seconds. */
  silentRequests(seconds: (running: RunningRequest) => number): readonly RunningRequest[] {
    const now = performance.now();
    return [...this.running].filter((each) => now - (each.pendingSince ?? now) > seconds(each) * 1000);
  }

  #open(): void {
    if (this.#state === "open") return;
    if (this.#state === "trial") {
      this.#pauseSeconds = Math.min(maxPauseSeconds, this.#pauseSeconds * 1.5);
    }
    this.#state = "open";
    this.#failedAt = performance.now();
    // The engine that comes back may be a different one.
    this.engine.invalidateFacts();
    // No output of these has been sent yet, so they can move to another member.
    for (const each of this.running) if (!each.hasBegun) each.move();
  }
}
