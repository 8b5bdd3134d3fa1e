import { setTimeout as sleep } from "node:timers/promises";
import type { EngineRequest } from "@hearth-and-keep/engine";
import { medianOf } from "./choose-member.ts";
import type { MemberQueue } from "./member-queue.ts";
import type { PoolMember, Running } from "./pool-member.ts";
import type { PoolTimeouts } from "./retry-policy.ts";
import { within } from "./timeout.ts";

export type LateRequestsDependencies = {
  readonly members: ReadonlyMap<string, PoolMember>;
  readonly line: MemberQueue;
  readonly patience: Pick<PoolTimeouts, "reading" | "writing">;
};

/** When a first token came, and for how much to read. */
type FirstToken = { readonly seconds: number; readonly characters: number };

/** Of those of late. */
type Usual = { readonly median: number; readonly nearlyAll: number; readonly characters: number };

const lookAgainMilliseconds = { busy: 100, idle: 500 } as const;
const firstTokensKept = 256;
/** Later than so many times the median: an engine that has said nothing for as long is asked how it is. */
const doubt = { times: 2, leastSeconds: 0.2, answerSeconds: 0.25 } as const;
/** Later than so many times what nearly all others waited: it goes elsewhere. */
const patience = { times: 3, leastSeconds: 1 } as const;
const imageCharacters = 2000;

/**
 * Requests that wait for their first token much longer than is usual for their length. One whose engine has fallen silent
 * goes elsewhere within a fraction of a second, long before anybody would call that engine broken; one whose engine is
 * only slow goes later. Each goes once, and only where somebody is free. Beside that, no silence lasts for ever.
 */
export class LateRequests {
  readonly #parts: LateRequestsDependencies;
  readonly #firstTokens: FirstToken[] = [];
  readonly #asked = new Set<PoolMember>();

  constructor(parts: LateRequestsDependencies) {
    this.#parts = parts;
  }

  note(firstToken: FirstToken): void {
    this.#firstTokens.push(firstToken);
    if (this.#firstTokens.length > firstTokensKept) this.#firstTokens.shift();
  }

  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const members = [...this.#parts.members.values()];
      const isBusy = members.some(({ running }) => running.size > 0);
      const pause = isBusy ? lookAgainMilliseconds.busy : lookAgainMilliseconds.idle;
      await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined);
      const busy = members.filter(({ running }) => running.size > 0);
      for (const member of busy) this.#endSilence(member);
      if (busy.length === 0 || this.#firstTokens.length === 0) continue;
      const usual = this.#usual();
      for (const member of busy) this.#look(member, usual, signal);
    }
  }

  /** An engine may say that it is well and compute nothing any more. */
  #endSilence(member: PoolMember): void {
    const { reading, writing } = this.#parts.patience;
    for (const each of member.silentFor(({ hasBegun }) => (hasBegun ? writing : reading))) each.breakOff();
  }

  #look(member: PoolMember, { median, nearlyAll, characters }: Usual, signal: AbortSignal): void {
    const now = performance.now();
    const unheard = unheardOf(member);
    const allowed = (each: Unheard, seconds: number): number =>
      seconds * 1000 * Math.max(1, each.characters / characters);
    const longest = Math.max(patience.leastSeconds, patience.times * nearlyAll);
    const late = unheard.find((each) => now - each.startedAt > allowed(each, longest));
    if (late !== undefined && this.#parts.line.hasFreePlaceBeside(member)) late.moveOn();
    const long = Math.max(doubt.leastSeconds, doubt.times * median);
    const isSilent = unheard.some(
      (each) => now - Math.max(each.startedAt, member.heardAt) > allowed(each, long),
    );
    if (isSilent && !this.#asked.has(member)) void this.#askHowItIs(member, signal);
  }

  async #askHowItIs(member: PoolMember, signal: AbortSignal): Promise<void> {
    this.#asked.add(member);
    using limit = within(doubt.answerSeconds, signal);
    try {
      await member.engine.checkHealth(limit.signal);
      member.hear();
    } catch {
      if (signal.aborted) return;
      member.suspect();
      for (const each of unheardOf(member)) {
        if (this.#parts.line.hasFreePlaceBeside(member)) each.moveOn();
      }
    } finally {
      this.#asked.delete(member);
    }
  }

  #usual(): Usual {
    const seconds = this.#firstTokens.map((each) => each.seconds).toSorted((one, other) => one - other);
    return {
      median: medianOf(seconds),
      nearlyAll: seconds[Math.floor(seconds.length * 0.99)] ?? 0,
      characters: Math.max(1, medianOf(this.#firstTokens.map((each) => each.characters))),
    };
  }
}

type Unheard = Running & { readonly characters: number };

function unheardOf({ running }: PoolMember): readonly Unheard[] {
  return [...running].filter(
    (each): each is Unheard => each.mayMove && !each.hasBegun && each.characters !== undefined,
  );
}

/** How much an engine has to read for it, roughly. */
export function charactersOf({ input }: EngineRequest): number {
  if (input.type === "raw") return input.prompt.length;
  if (input.type === "fill-in-the-middle") return input.prefix.length + input.suffix.length;
  return input.conversation.messages.reduce((sum, message) => {
    const images = message.role === "user" ? (message.images?.length ?? 0) : 0;
    return sum + (message.content?.length ?? 0) + images * imageCharacters;
  }, 0);
}
