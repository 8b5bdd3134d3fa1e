import { setTimeout as sleep } from "node:timers/promises";
import type { EngineRequest, Message } from "@hearth-and-keep/engine";
import { medianOf } from "./choose-member.ts";
import type { MemberQueue } from "./member-queue.ts";
import type { PoolMember, RunningRequest } from "./pool-member.ts";
import type { PoolTimeouts } from "./retry-policy.ts";
import { withTimeout } from "./timeout.ts";

export type LateRequestsDependencies = {
  readonly members: ReadonlyMap<string, PoolMember>;
  readonly queue: MemberQueue;
  readonly timeouts: Pick<PoolTimeouts, "firstEvent" | "nextEvent">;
};

/** The time to a first token, and the size of its prompt. */
type FirstToken = { readonly seconds: number; readonly characters: number };

/** Statistics of the recent first tokens. */
type TypicalWait = { readonly median: number; readonly percentile99: number; readonly characters: number };

const checkMilliseconds = { busy: 100, idle: 500 } as const;
const maxFirstTokens = 256;
/** An engine that has been silent for this many times the median gets a health check. */
const suspicion = { times: 2, minSeconds: 0.2, timeoutSeconds: 0.25 } as const;
/** A request that has waited this many times the 99th percentile moves to another engine. */
const lateness = { times: 3, minSeconds: 1 } as const;
const imageCharacters = 2000;
const charactersPerSecondOfAudio = 100;

/**
 * Moves requests that wait for their first token much longer than is typical for their length. If the engine has become
 * unresponsive, the request moves within a fraction of a second, long before the engine counts as failed; if it is only
 * slow, the request moves later. Each request moves at most once, and only to an engine with a free slot. In addition,
 * requests without any event for too long fail.
 */
export class LateRequests {
  readonly #dependencies: LateRequestsDependencies;
  readonly #firstTokens: FirstToken[] = [];
  readonly #checking = new Set<PoolMember>();

  constructor(dependencies: LateRequestsDependencies) {
    this.#dependencies = dependencies;
  }

  record(firstToken: FirstToken): void {
    this.#firstTokens.push(firstToken);
    if (this.#firstTokens.length > maxFirstTokens) this.#firstTokens.shift();
  }

  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const members = [...this.#dependencies.members.values()];
      const isBusy = members.some(({ running }) => running.size > 0);
      const pause = isBusy ? checkMilliseconds.busy : checkMilliseconds.idle;
      await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined);
      const busy = members.filter(({ running }) => running.size > 0);
      for (const member of busy) this.#failSilentRequests(member);
      if (busy.length === 0 || this.#firstTokens.length === 0) continue;
      const typical = this.#typicalWait();
      for (const member of busy) this.#checkMember(member, typical, signal);
    }
  }

  /** An engine can report that it is healthy although it no longer computes anything. */
  #failSilentRequests(member: PoolMember): void {
    const { firstEvent, nextEvent } = this.#dependencies.timeouts;
    for (const each of member.silentRequests(({ hasBegun }) => (hasBegun ? nextEvent : firstEvent)))
      each.fail();
  }

  #checkMember(
    member: PoolMember,
    { median, percentile99, characters }: TypicalWait,
    signal: AbortSignal,
  ): void {
    const now = performance.now();
    const waiting = unansweredRequests(member);
    const allowed = (each: UnansweredRequest, seconds: number): number =>
      seconds * 1000 * Math.max(1, each.characters / characters);
    const maxWait = Math.max(lateness.minSeconds, lateness.times * percentile99);
    const late = waiting.find((each) => now - each.startedAt > allowed(each, maxWait));
    if (late !== undefined && this.#dependencies.queue.hasFreeSlotBesides(member)) late.move();
    const suspiciousWait = Math.max(suspicion.minSeconds, suspicion.times * median);
    const isSilent = waiting.some(
      (each) => now - Math.max(each.startedAt, member.lastActivityAt) > allowed(each, suspiciousWait),
    );
    if (isSilent && !this.#checking.has(member)) void this.#checkHealth(member, signal);
  }

  async #checkHealth(member: PoolMember, signal: AbortSignal): Promise<void> {
    this.#checking.add(member);
    using limit = withTimeout(suspicion.timeoutSeconds, signal);
    try {
      await member.engine.checkHealth(limit.signal);
      member.recordActivity();
    } catch {
      if (signal.aborted) return;
      member.suspect();
      for (const each of unansweredRequests(member)) {
        if (this.#dependencies.queue.hasFreeSlotBesides(member)) each.move();
      }
    } finally {
      this.#checking.delete(member);
    }
  }

  #typicalWait(): TypicalWait {
    const seconds = this.#firstTokens.map((each) => each.seconds).toSorted((one, other) => one - other);
    return {
      median: medianOf(seconds),
      percentile99: seconds[Math.floor(seconds.length * 0.99)] ?? 0,
      characters: Math.max(1, medianOf(this.#firstTokens.map((each) => each.characters))),
    };
  }
}

type UnansweredRequest = RunningRequest & { readonly characters: number };

function unansweredRequests({ running }: PoolMember): readonly UnansweredRequest[] {
  return [...running].filter(
    (each): each is UnansweredRequest => each.mayMove && !each.hasBegun && each.characters !== undefined,
  );
}

type Media = Pick<Extract<Message, { role: "user" }>, "images" | "audio">;

/** Estimates the size of the prompt that an engine has to process. */
export function charactersOf({ input }: EngineRequest): number {
  if (input.type === "raw") return input.prompt.length;
  if (input.type === "fill-in-the-middle") return input.prefix.length + input.suffix.length;
  return input.conversation.messages.reduce((sum, message) => {
    const { images = [], audio = [] }: Media = message.role === "user" ? message : {};
    const audioSeconds = audio.reduce((total, { seconds }) => total + seconds, 0);
    const media = images.length * imageCharacters + audioSeconds * charactersPerSecondOfAudio;
    return sum + (message.content?.length ?? 0) + media;
  }, 0);
}
