import { setTimeout as sleep } from "node:timers/promises";
import { WireError } from "../wire/wire-error.ts";
import { type Discovery, labelOf } from "./discovery.ts";
import { type MemberSource, PoolMember } from "./pool-member.ts";
import type { PoolTimeouts } from "./retry-policy.ts";
import { within } from "./timeout.ts";

export type MemberListDependencies = {
  readonly discovery: Discovery;
  /** Makes the way to an engine; the address is one that discovery gave. */
  readonly connect: (address: URL) => MemberSource;
  readonly patience: Pick<PoolTimeouts, "unwell">;
  /** Somebody may be asked who could not be before, or the other way round. */
  readonly onChange: () => void;
};

const checkSeconds = 2;
const checkLimitSeconds = 1;
/** It is asked what it is, too. */
const firstCheckLimitSeconds = 5;

/**
 * Who is in the pool, and how each is. One that left the list of addresses stays, asked how it is and nothing else, until
 * the last of its requests has ended; if its address returns before that, it is taken back.
 */
export class MemberList {
  readonly members: ReadonlyMap<string, PoolMember>;
  readonly #members = new Map<string, PoolMember>();
  readonly #parts: MemberListDependencies;

  constructor(parts: MemberListDependencies) {
    this.#parts = parts;
    this.members = this.#members;
  }

  async discover(signal: AbortSignal): Promise<void> {
    const { discovery, connect, onChange } = this.#parts;
    for await (const addresses of discovery.watch(signal)) {
      const listed = new Map(addresses.map((address) => [labelOf(address), address]));
      for (const [label, member] of this.#members) {
        if (listed.has(label)) continue;
        member.drain();
        this.forgetClosed(member);
      }
      for (const [label, address] of listed) {
        const known = this.#members.get(label);
        known?.takeBack();
        if (known !== undefined) continue;
        const member = new PoolMember(connect(address));
        this.#members.set(label, member);
        void this.#watch(member, signal);
      }
      onChange();
    }
  }

  forgetClosed({ label, isClosed }: PoolMember): void {
    if (isClosed) this.#members.delete(label);
  }

  drainAll(): void {
    for (const member of this.#members.values()) member.drain();
  }

  async #watch(member: PoolMember, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !member.isClosed) {
      await this.#check(member, signal);
      this.#parts.onChange();
      const isAway = member.state === "open" || member.state === "unknown";
      const pause = isAway ? member.pauseSeconds : checkSeconds;
      await sleep(pause * 1000, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #check(member: PoolMember, signal: AbortSignal): Promise<void> {
    const askedAt = performance.now();
    using limit = within(member.facts === undefined ? firstCheckLimitSeconds : checkLimitSeconds, signal);
    try {
      await member.engine.checkHealth(limit.signal);
      member.facts = await member.engine.learn(limit.signal);
      member.isWell();
    } catch (problem) {
      const isGone = problem instanceof WireError && problem.detail.kind === "unreachable";
      const isOther = (each: PoolMember): boolean => each !== member && each.isUsable();
      const isLast = !isGone && !this.#members.values().some(isOther);
      member.isNotWell({ askedAt, isLast, patience: this.#parts.patience });
    }
  }
}
