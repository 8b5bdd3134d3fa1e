/**
 * @module
 * Several engines with the same model, as one: who is well, who is asked, and what happens when one fails.
 * Promises that a request is asked again elsewhere only while nobody has seen anything of its answer, that a
 * conversation goes where its beginning was read as long as that is no detour, and that no engine gets more than its
 * limit. Holds no conversation: any number of such pools may stand before the same engines.
 * Imported, through the package's index, by `main`.
 */

import type { EngineEvent, EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { explainRefusal } from "../remote/map-error.ts";
import type { RemoteEngine, RemoteFacts } from "../remote/remote-engine.ts";
import { WireError } from "../wire/wire-error.ts";
import { type Choose, chooseMember } from "./choose-member.ts";
import { charactersOf, LateRequests } from "./late-requests.ts";
import { MemberList, type MemberListDependencies } from "./member-list.ts";
import { MemberQueue, MovedOn, unavailable } from "./member-queue.ts";
import type { MemberState, PoolMember, Running } from "./pool-member.ts";
import { PrefixMap, prefixesOf } from "./prefix-map.ts";
import { defaultPoolTimeouts, type PoolTimeouts } from "./retry-policy.ts";

export type EnginePoolOptions = Pick<MemberListDependencies, "discovery" | "connect"> & {
  /** Of each engine. */
  readonly mostRequests: number;
  readonly choose?: Choose;
  readonly patience?: Partial<PoolTimeouts>;
};

export type MemberSnapshot = {
  readonly label: string;
  readonly state: MemberState | "draining";
  readonly outstanding: number;
  readonly requests: number;
  readonly failures: number;
  readonly retries: number;
};

const consultMilliseconds = 10_000;
/**
 * A request that breaks three engines is not given to a fourth. One that was too slow has not failed it, so moves are
 * counted apart; one that has too much to do has not even begun, and rests before it is asked again.
 */
const mostFailures = 3;
const mostAttempts = 8;

export class EnginePool implements AsyncDisposable {
  readonly #parts: EnginePoolOptions;
  readonly #list: MemberList;
  readonly #prefixes = new PrefixMap();
  readonly #life = new AbortController();
  readonly #line: MemberQueue;
  readonly #late: LateRequests;
  readonly #work: Promise<unknown>[] = [];
  readonly #listeners = new Set<() => void>();
  #toldPlaces = 0;

  constructor(parts: EnginePoolOptions) {
    this.#parts = parts;
    const { discovery, connect, mostRequests, choose = chooseMember } = parts;
    const patience = { ...defaultPoolTimeouts, ...parts.patience };
    this.#list = new MemberList({ discovery, connect, patience, onChange: () => this.#advance() });
    const { members } = this.#list;
    this.#line = new MemberQueue({ members, choose, mostRequests, patience });
    this.#late = new LateRequests({ members, line: this.#line, patience });
    this.#work.push(this.#list.discover(this.#life.signal), this.#late.watch(this.#life.signal));
  }

  get waiting(): number {
    return this.#line.length;
  }

  /** How many requests those who can be asked take at once; with nobody to ask, as many as if all could be. */
  get places(): number {
    const { mostRequests } = this.#parts;
    let places = 0;
    let listed = 0;
    for (const member of this.#list.members.values()) {
      if (member.isUsable()) places += member.placesOf(mostRequests);
      if (!member.isDraining) listed += 1;
    }
    return places > 0 ? places : mostRequests * Math.max(1, listed);
  }

  /** Is told when there are more or fewer places, until it leaves. */
  watchPlaces(listener: () => void): { readonly leave: () => void } {
    this.#listeners.add(listener);
    return { leave: () => void this.#listeners.delete(listener) };
  }

  snapshot(): readonly MemberSnapshot[] {
    return this.#members.map((member) => ({
      label: member.label,
      state: member.isDraining ? "draining" : member.state,
      outstanding: member.running.size,
      ...member.counts,
    }));
  }

  /** What the engines told of themselves: all of it true for each of them. */
  facts(): RemoteFacts | undefined {
    const known = this.#members.flatMap(({ facts }) => facts ?? []);
    const [first] = known;
    if (first === undefined) return undefined;
    const contexts = known.flatMap(({ contextTokens }) => contextTokens ?? []);
    return {
      ...first,
      contextTokens: contexts.length === 0 ? undefined : Math.min(...contexts),
      knowsTools: known.some(({ knowsTools }) => knowsTools === false) ? false : first.knowsTools,
    };
  }

  /** Settles when one engine at least can be asked. */
  async ready(signal: AbortSignal): Promise<RemoteFacts> {
    const wish = { tried: new Set<PoolMember>(), mayMove: false, characters: undefined };
    const place = await this.#line.take({ ...wish, since: performance.now() }, signal);
    this.#giveBack(place);
    return this.facts() ?? place.member.engine.learn(signal);
  }

  async *generate(request: EngineRequest, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    const prefixes = prefixesOf(request);
    const ask = (engine: RemoteEngine, both: AbortSignal): AsyncGenerator<EngineEvent> =>
      engine.generate(request, both);
    const wish = {
      prefixes,
      preferred: this.#prefixes.find(prefixes),
      characters: charactersOf(request),
      ask,
    };
    yield* this.#askInTurn(wish, signal);
  }

  /** For one whole answer that costs an engine as much as a request does. */
  async once<Value>(ask: AskOnce<Value>, signal: AbortSignal): Promise<Value> {
    const asOne = async function* (engine: RemoteEngine, both: AbortSignal): AsyncGenerator<Value> {
      yield await ask(engine, both);
    };
    const wish = { prefixes: [], preferred: undefined, characters: undefined, ask: asOne };
    for await (const value of this.#askInTurn(wish, signal)) {
      return value;
    }
    throw unavailable();
  }

  /** For short questions, which need no place: whoever has one may ask them, and would wait for himself. */
  async consult<Value>(ask: AskOnce<Value>, signal: AbortSignal): Promise<Value> {
    const usable = this.#members.filter((member) => member.isUsable());
    let last: unknown;
    for (const member of usable.toSorted((one, other) => one.running.size - other.running.size)) {
      try {
        return await ask(member.engine, AbortSignal.any([signal, AbortSignal.timeout(consultMilliseconds)]));
      } catch (problem) {
        signal.throwIfAborted();
        last = problem;
        const refusal = explainRefusal(problem);
        if (refusal?.type === "caller") throw new FailureError<EngineFailure>(refusal.failure);
        if (refusal === undefined && problem instanceof FailureError) throw problem;
      }
    }
    throw unavailable(last);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    this.#line.refuseAll(new FailureError<EngineFailure>({ kind: "engine-unloaded" }));
    this.#list.drainAll();
    await Promise.allSettled(this.#work);
  }

  async *#askInTurn<Event>(wish: Wish<Event>, signal: AbortSignal): AsyncGenerator<Event> {
    const since = performance.now();
    const tried = new Set<PoolMember>();
    let failures = 0;
    let attempts = 1;
    for (;;) {
      const place = await this.#line.take({ ...wish, tried, since, mayMove: attempts === 1 }, signal);
      const isLast = failures + 1 === mostFailures || attempts === mostAttempts;
      const outcome = yield* this.#attempt(wish, { ...place, isLast }, signal);
      if (outcome === "answered") return;
      place.member.counts.retries += 1;
      // Its rest keeps others and this one away; the patience of the line ends it if all of them rest.
      if (outcome === "busy") continue;
      if (outcome === "failed") failures += 1;
      attempts += 1;
      tried.add(place.member);
    }
  }

  /** Unless it was answered, nothing of it was given out, and another may be asked. */
  async *#attempt<Event>(
    { ask, prefixes }: Wish<Event>,
    { member, running, ending, isLast }: Attempt,
    signal: AbortSignal,
  ): AsyncGenerator<Event, Outcome> {
    const events = ask(member.engine, AbortSignal.any([signal, ending.signal]));
    try {
      for (;;) {
        running.pendingSince = performance.now();
        const next = await events.next();
        running.pendingSince = undefined;
        member.hear();
        if (next.done === true) return "answered";
        if (!running.hasBegun) this.#begin({ member, running, prefixes });
        yield next.value;
      }
    } catch (problem) {
      signal.throwIfAborted();
      return this.#afterFailure(problem, { member, running, isLast });
    } finally {
      ending.abort();
      this.#giveBack({ member, running });
    }
  }

  #giveBack({ member, running }: Pick<Attempt, "member" | "running">): void {
    member.giveBack(running);
    this.#list.forgetClosed(member);
    this.#advance();
  }

  #advance(): void {
    this.#line.advance();
    if (this.#listeners.size === 0) return;
    const { places } = this;
    if (places === this.#toldPlaces) return;
    this.#toldPlaces = places;
    for (const tell of this.#listeners) tell();
  }

  get #members(): readonly PoolMember[] {
    return [...this.#list.members.values()];
  }

  #begin({
    member,
    running,
    prefixes,
  }: {
    member: PoolMember;
    running: Running;
    prefixes: readonly string[];
  }) {
    running.hasBegun = true;
    const seconds = member.answer(running);
    this.#prefixes.remember(prefixes, member.label);
    // One that was on trial, or rested, may have more places now.
    this.#advance();
    const { characters } = running;
    if (seconds !== undefined && characters !== undefined) this.#late.note({ seconds, characters });
  }

  /** Comes back when another member may be asked; otherwise what the caller is told is thrown. */
  #afterFailure(problem: unknown, { member, running, isLast }: Omit<Attempt, "ending">): Outcome {
    const hasMoved = problem instanceof MovedOn;
    const refusal = hasMoved ? ({ type: "elsewhere", standing: "busy" } as const) : explainRefusal(problem);
    if (refusal === undefined) throw problem;
    if (refusal.type === "caller") {
      member.answer(running);
      throw new FailureError<EngineFailure>(refusal.failure, { cause: problem });
    }
    const { standing } = refusal;
    const { status, retryAfterSeconds } = detailOf(problem);
    if (hasMoved) member.endTrial();
    else if (standing === "busy") member.isBusy(retryAfterSeconds);
    else member.fail(standing);
    // It may serve the model by another name since it was started anew.
    if (status === 404) member.engine.forget();
    if (running.hasBegun) {
      throw new FailureError<EngineFailure>(
        { kind: "engine-crashed", exitCode: null, signal: null },
        { cause: problem },
      );
    }
    if (!hasMoved && standing === "busy") return "busy";
    if (isLast) throw unavailable(problem);
    return hasMoved ? "moved" : "failed";
  }
}

type Outcome = "answered" | "busy" | "failed" | "moved";

type AskOnce<Value> = (engine: RemoteEngine, signal: AbortSignal) => Promise<Value>;

type Wish<Event> = {
  readonly prefixes: readonly string[];
  readonly preferred: string | undefined;
  readonly characters: number | undefined;
  readonly ask: (engine: RemoteEngine, signal: AbortSignal) => AsyncGenerator<Event>;
};

type Attempt = {
  readonly member: PoolMember;
  readonly running: Running;
  readonly ending: AbortController;
  readonly isLast: boolean;
};

function detailOf(problem: unknown): { readonly status?: number; readonly retryAfterSeconds?: number } {
  return problem instanceof WireError && problem.detail.kind === "refused" ? problem.detail : {};
}
