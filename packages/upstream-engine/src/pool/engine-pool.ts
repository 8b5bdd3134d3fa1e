/**
 * @module
 * Presents several engines with the same model as one: tracks their health, selects one per request, and handles
 * failures. A request is retried on another engine only as long as none of its output has been sent. A conversation goes
 * to the engine that has its prefix cached unless another is clearly faster, and no engine gets more than its limit.
 * Conversations are not stored, so any number of such pools can share the same engines.
 * Imported, through the package's index, by `main`.
 */

import type { EngineEvent, EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { classifyError } from "../remote/map-error.ts";
import type { RemoteEngine, RemoteFacts } from "../remote/remote-engine.ts";
import { WireError } from "../wire/wire-error.ts";
import { type Choose, chooseMember } from "./choose-member.ts";
import { charactersOf, LateRequests } from "./late-requests.ts";
import { MemberList, type MemberListDependencies } from "./member-list.ts";
import { MemberQueue, RequestMoved, unavailable } from "./member-queue.ts";
import type { MemberState, PoolMember, RunningRequest } from "./pool-member.ts";
import { PrefixMap, prefixesOf } from "./prefix-map.ts";
import { defaultPoolTimeouts, type PoolTimeouts } from "./retry-policy.ts";

export type EnginePoolOptions = Pick<MemberListDependencies, "discovery" | "connect"> & {
  readonly maxRequestsPerEngine: number;
  readonly choose?: Choose;
  readonly timeouts?: Partial<PoolTimeouts>;
};

export type MemberSnapshot = {
  readonly label: string;
  readonly state: MemberState | "draining";
  readonly outstanding: number;
  readonly requests: number;
  readonly failures: number;
  readonly retries: number;
};

const queryMilliseconds = 10_000;
/**
 * A request that fails on three engines is not sent to a fourth. A move away from a slow engine is not a failure and
 * counts as an attempt only. A busy engine counts as neither, because the request has not started there; the engine backs
 * off before it gets the next one.
 */
const maxFailures = 3;
const maxAttempts = 8;

export class EnginePool implements AsyncDisposable {
  readonly #options: EnginePoolOptions;
  readonly #list: MemberList;
  readonly #prefixes = new PrefixMap();
  readonly #lifetime = new AbortController();
  readonly #queue: MemberQueue;
  readonly #late: LateRequests;
  readonly #work: Promise<unknown>[] = [];
  readonly #listeners = new Set<() => void>();
  #reportedSlots = 0;

  constructor(options: EnginePoolOptions) {
    this.#options = options;
    const { discovery, connect, maxRequestsPerEngine, choose = chooseMember } = options;
    const timeouts = { ...defaultPoolTimeouts, ...options.timeouts };
    this.#list = new MemberList({ discovery, connect, timeouts, onChange: () => this.#advance() });
    const { members } = this.#list;
    this.#queue = new MemberQueue({ members, choose, maxRequestsPerEngine, timeouts });
    this.#late = new LateRequests({ members, queue: this.#queue, timeouts });
    this.#work.push(this.#list.discover(this.#lifetime.signal), this.#late.watch(this.#lifetime.signal));
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** How many requests the usable engines can run concurrently; if none is usable, as many as if all were. */
  get slots(): number {
    const { maxRequestsPerEngine } = this.#options;
    let slots = 0;
    let listed = 0;
    for (const member of this.#list.members.values()) {
      if (member.isUsable()) slots += member.slotLimit(maxRequestsPerEngine);
      if (!member.isDraining) listed += 1;
    }
    return slots > 0 ? slots : maxRequestsPerEngine * Math.max(1, listed);
  }

  /** Calls the listener whenever the number of slots changes, until it unsubscribes. */
  watchSlots(listener: () => void): { readonly unsubscribe: () => void } {
    this.#listeners.add(listener);
    return { unsubscribe: () => void this.#listeners.delete(listener) };
  }

  snapshot(): readonly MemberSnapshot[] {
    return this.#members.map((member) => ({
      label: member.label,
      state: member.isDraining ? "draining" : member.state,
      outstanding: member.running.size,
      ...member.counts,
    }));
  }

  /** Combines the facts of all engines, so that they hold for each of them. */
  facts(): RemoteFacts | undefined {
    const known = this.#members.flatMap(({ facts }) => facts ?? []);
    const [first] = known;
    if (first === undefined) return undefined;
    const contexts = known.flatMap(({ contextTokens }) => contextTokens ?? []);
    return {
      ...first,
      contextTokens: contexts.length === 0 ? undefined : Math.min(...contexts),
      supportsTools: known.some(({ supportsTools }) => supportsTools === false) ? false : first.supportsTools,
    };
  }

  /** Resolves as soon as at least one engine is usable. */
  async ready(signal: AbortSignal): Promise<RemoteFacts> {
    const request = { tried: new Set<PoolMember>(), mayMove: false, characters: undefined };
    const slot = await this.#queue.acquire({ ...request, since: performance.now() }, signal);
    this.#release(slot);
    return this.facts() ?? slot.member.engine.getFacts(signal);
  }

  async *generate(request: EngineRequest, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    const prefixes = prefixesOf(request);
    const send = (engine: RemoteEngine, combined: AbortSignal): AsyncGenerator<EngineEvent> =>
      engine.generate(request, combined);
    const poolRequest = {
      prefixes,
      preferred: this.#prefixes.find(prefixes),
      characters: charactersOf(request),
      onAddress: request.onAddress,
      send,
    };
    yield* this.#tryMembers(poolRequest, signal);
  }

  /** Runs an operation with a single result that costs an engine as much as a generation. */
  async runOnce<Value>(
    operation: EngineOperation<Value>,
    signal: AbortSignal,
    onAddress?: EngineRequest["onAddress"],
  ): Promise<Value> {
    const send = async function* (engine: RemoteEngine, combined: AbortSignal): AsyncGenerator<Value> {
      yield await operation(engine, combined);
    };
    const poolRequest = { prefixes: [], preferred: undefined, characters: undefined, onAddress, send };
    for await (const value of this.#tryMembers(poolRequest, signal)) {
      return value;
    }
    throw unavailable();
  }

  /** Runs a short operation without a slot: a caller that already holds one would otherwise wait for itself. */
  async query<Value>(operation: EngineOperation<Value>, signal: AbortSignal): Promise<Value> {
    const usable = this.#members.filter((member) => member.isUsable());
    let last: unknown;
    for (const member of usable.toSorted((one, other) => one.running.size - other.running.size)) {
      try {
        return await operation(
          member.engine,
          AbortSignal.any([signal, AbortSignal.timeout(queryMilliseconds)]),
        );
      } catch (error) {
        signal.throwIfAborted();
        last = error;
        const classified = classifyError(error);
        if (classified?.type === "client-error") throw new FailureError<EngineFailure>(classified.failure);
        if (classified === undefined && error instanceof FailureError) throw error;
      }
    }
    throw unavailable(last);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lifetime.abort();
    this.#queue.rejectAll(new FailureError<EngineFailure>({ kind: "engine-unloaded" }));
    this.#list.drainAll();
    await Promise.allSettled(this.#work);
  }

  async *#tryMembers<Event>(request: PoolRequest<Event>, signal: AbortSignal): AsyncGenerator<Event> {
    const since = performance.now();
    const tried = new Set<PoolMember>();
    let failures = 0;
    let attempts = 1;
    for (;;) {
      const slot = await this.#queue.acquire({ ...request, tried, since, mayMove: attempts === 1 }, signal);
      const isLast = failures + 1 === maxFailures || attempts === maxAttempts;
      const outcome = yield* this.#attempt(request, { ...slot, isLast }, signal);
      if (outcome === "completed") return;
      slot.member.counts.retries += 1;
      // The engine's backoff keeps requests away; the queue's timeout ends the wait if all engines back off.
      if (outcome === "busy") continue;
      if (outcome === "failed") failures += 1;
      attempts += 1;
      tried.add(slot.member);
    }
  }

  /** Any outcome other than `completed` means that no output has been sent, so another engine can be tried. */
  async *#attempt<Event>(
    { send, prefixes, onAddress }: PoolRequest<Event>,
    { member, running, abortController, isLast }: Attempt,
    signal: AbortSignal,
  ): AsyncGenerator<Event, Outcome> {
    const events = send(member.engine, AbortSignal.any([signal, abortController.signal]));
    try {
      for (;;) {
        running.pendingSince = performance.now();
        const next = await events.next();
        running.pendingSince = undefined;
        member.recordActivity();
        if (next.done === true) return "completed";
        if (!running.hasBegun) {
          this.#recordStart({ member, running, prefixes });
          onAddress?.(member.label);
        }
        yield next.value;
      }
    } catch (error) {
      signal.throwIfAborted();
      return this.#afterFailure(error, { member, running, isLast });
    } finally {
      abortController.abort();
      this.#release({ member, running });
    }
  }

  #release({ member, running }: Pick<Attempt, "member" | "running">): void {
    member.removeRequest(running);
    this.#list.removeClosed(member);
    this.#advance();
  }

  #advance(): void {
    this.#queue.advance();
    if (this.#listeners.size === 0) return;
    const { slots } = this;
    if (slots === this.#reportedSlots) return;
    this.#reportedSlots = slots;
    for (const notify of this.#listeners) notify();
  }

  get #members(): readonly PoolMember[] {
    return [...this.#list.members.values()];
  }

  #recordStart({
    member,
    running,
    prefixes,
  }: {
    member: PoolMember;
    running: RunningRequest;
    prefixes: readonly string[];
  }) {
    running.hasBegun = true;
    const seconds = member.recordFirstToken(running);
    this.#prefixes.record(prefixes, member.label);
    // A member that was on trial or backing off may have more slots now.
    this.#advance();
    const { characters } = running;
    if (seconds !== undefined && characters !== undefined) this.#late.record({ seconds, characters });
  }

  /** Returns if another member can be tried, and throws the client's error otherwise. */
  #afterFailure(error: unknown, { member, running, isLast }: Omit<Attempt, "abortController">): Outcome {
    const hasMoved = error instanceof RequestMoved;
    const classified = hasMoved
      ? ({ type: "retry-elsewhere", condition: "busy" } as const)
      : classifyError(error);
    if (classified === undefined) throw error;
    if (classified.type === "client-error") {
      member.recordFirstToken(running);
      throw new FailureError<EngineFailure>(classified.failure, { cause: error });
    }
    const { condition } = classified;
    const { status, retryAfterSeconds } = detailOf(error);
    if (hasMoved) member.failTrial();
    else if (condition === "busy") member.recordBusy(retryAfterSeconds);
    else member.recordFailure(condition);
    // After a restart it may serve the model under another name.
    if (status === 404) member.engine.invalidateFacts();
    if (running.hasBegun) {
      throw new FailureError<EngineFailure>(
        { kind: "engine-crashed", exitCode: null, signal: null },
        { cause: error },
      );
    }
    if (!hasMoved && condition === "busy") return "busy";
    if (isLast) throw unavailable(error);
    return hasMoved ? "moved" : "failed";
  }
}

type Outcome = "completed" | "busy" | "failed" | "moved";

type EngineOperation<Value> = (engine: RemoteEngine, signal: AbortSignal) => Promise<Value>;

type PoolRequest<Event> = {
  readonly prefixes: readonly string[];
  readonly preferred: string | undefined;
  readonly characters: number | undefined;
  readonly onAddress: EngineRequest["onAddress"];
  readonly send: (engine: RemoteEngine, signal: AbortSignal) => AsyncGenerator<Event>;
};

type Attempt = {
  readonly member: PoolMember;
  readonly running: RunningRequest;
  readonly abortController: AbortController;
  readonly isLast: boolean;
};

function detailOf(error: unknown): { readonly status?: number; readonly retryAfterSeconds?: number } {
  return error instanceof WireError && error.detail.kind === "error-response" ? error.detail : {};
}
