/**
 * @module
 * Several engines with the same model, as one: who is well, who is asked, and what happens when one fails.
 * Promises that a request is asked again elsewhere only while nobody has seen anything of its answer, that a
 * conversation goes where its beginning was read as long as that is no detour, and that no engine gets more than its
 * limit. Holds no conversation: any number of such pools may stand before the same engines.
 * Imported, through the package's index, by `main`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { EngineEvent, EngineFailure, GenerateRequest } from "@hearth-and-keep/llama-engine";
import { explainRefusal } from "../remote/explain-refusal.ts";
import type { RemoteEngine, RemoteFacts } from "../remote/remote-engine.ts";
import { WireProblem } from "../wire/wire-problem.ts";
import { type Choose, chooseMember } from "./choose-member.ts";
import type { Discovery } from "./discovery.ts";
import { charactersOf, LateRequests } from "./late-requests.ts";
import { MovedOn, PlaceLine } from "./place-line.ts";
import { type MemberSource, type MemberState, PoolMember, type Running } from "./pool-member.ts";
import { PrefixMap, prefixesOf } from "./prefix-map.ts";
import { within } from "./within.ts";

export type EnginePoolParts = {
  readonly discovery: Discovery;
  /** Makes the way to an engine; the address is one that discovery gave. */
  readonly connect: (address: URL) => MemberSource;
  /** Of each engine. */
  readonly mostRequests: number;
  readonly choose?: Choose;
};

export type MemberSnapshot = {
  readonly label: string;
  readonly state: MemberState | "draining";
  readonly outstanding: number;
  readonly requests: number;
  readonly failures: number;
  readonly retries: number;
};

const checkSeconds = 2;
const checkLimitSeconds = 1;
/** It is asked what it is, too. */
const firstCheckLimitSeconds = 5;
const consultMilliseconds = 10_000;
/** Of members that failed a request. One that only was too slow has not failed it, so moves are counted apart. */
const mostFailures = 3;
const mostAttempts = 8;

export class EnginePool implements AsyncDisposable {
  readonly #parts: EnginePoolParts;
  readonly #members = new Map<string, PoolMember>();
  readonly #prefixes = new PrefixMap();
  readonly #life = new AbortController();
  readonly #line: PlaceLine;
  readonly #late: LateRequests;
  readonly #work: Promise<unknown>[] = [];

  constructor(parts: EnginePoolParts) {
    this.#parts = parts;
    const choose = parts.choose ?? chooseMember;
    this.#line = new PlaceLine({ members: this.#members, choose, mostRequests: parts.mostRequests });
    this.#late = new LateRequests({ members: this.#members, line: this.#line });
    this.#work.push(this.#discover(), this.#late.watch(this.#life.signal));
  }

  get waiting(): number {
    return this.#line.length;
  }

  snapshot(): readonly MemberSnapshot[] {
    return [...this.#members.values()].map((member) => ({
      label: member.label,
      state: member.isDraining ? "draining" : member.state,
      outstanding: member.running.size,
      ...member.counts,
    }));
  }

  /** What the engines told of themselves: all of it true for each of them. */
  facts(): RemoteFacts | undefined {
    const known = [...this.#members.values()].flatMap(({ facts }) => facts ?? []);
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
    const place = await this.#line.take({ tried: new Set(), mayMove: false, characters: undefined }, signal);
    place.member.giveBack(place.running);
    this.#line.advance();
    return this.facts() ?? place.member.engine.learn(signal);
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<EngineEvent> {
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
    const usable = [...this.#members.values()].filter((member) => member.isUsable());
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
    for (const member of this.#members.values()) member.drain();
    await Promise.allSettled(this.#work);
  }

  async *#askInTurn<Event>(wish: Wish<Event>, signal: AbortSignal): AsyncGenerator<Event> {
    const tried = new Set<PoolMember>();
    let failures = 0;
    for (let attempt = 1; ; attempt += 1) {
      const place = await this.#line.take({ ...wish, tried, mayMove: attempt === 1 }, signal);
      const isLast = failures + 1 === mostFailures || attempt === mostAttempts;
      const outcome = yield* this.#attempt(wish, { ...place, isLast }, signal);
      if (outcome === "answered") return;
      if (outcome === "failed") failures += 1;
      tried.add(place.member);
      place.member.counts.retries += 1;
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
      member.giveBack(running);
      this.#line.advance();
    }
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
    if (refusal.standing !== "busy") member.fail(refusal.standing);
    if (running.hasBegun) {
      throw new FailureError<EngineFailure>(
        { kind: "engine-died", exitCode: null, signal: null },
        { cause: problem },
      );
    }
    if (isLast) throw unavailable(problem);
    return hasMoved ? "moved" : "failed";
  }

  async #discover(): Promise<void> {
    const { discovery } = this.#parts;
    for await (const addresses of discovery.watch(this.#life.signal)) {
      const listed = new Map(addresses.map((address) => [address.href, address]));
      for (const [href, member] of this.#members) {
        if (listed.has(href)) continue;
        member.drain();
        this.#members.delete(href);
      }
      for (const [href, address] of listed) {
        if (this.#members.has(href)) continue;
        const member = new PoolMember(this.#parts.connect(address));
        this.#members.set(href, member);
        void this.#watch(member);
      }
    }
  }

  async #watch(member: PoolMember): Promise<void> {
    const { signal } = this.#life;
    while (!signal.aborted && !member.isDraining) {
      const askedAt = performance.now();
      const seconds = member.facts === undefined ? firstCheckLimitSeconds : checkLimitSeconds;
      using limit = within(seconds, signal);
      try {
        await member.engine.checkHealth(limit.signal);
        member.facts = await member.engine.learn(limit.signal);
        member.isWell();
      } catch (problem) {
        const isGone = problem instanceof WireProblem && problem.detail.kind === "unreachable";
        const isLast =
          !isGone && [...this.#members.values()].every((each) => each === member || !each.isUsable());
        member.isNotWell({ askedAt, isLast });
      }
      this.#line.advance();
      const pause =
        member.state === "open" || member.state === "unknown" ? member.pauseSeconds : checkSeconds;
      await sleep(pause * 1000, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}

type Outcome = "answered" | "failed" | "moved";

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

function unavailable(cause?: unknown): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "engines-unavailable", retryAfterSeconds: 5 }, { cause });
}
