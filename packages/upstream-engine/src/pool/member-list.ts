import { setTimeout as sleep } from "node:timers/promises";
import { WireError } from "../wire/wire-error.ts";
import { type Discovery, labelOf } from "./discovery.ts";
import { type MemberSource, PoolMember } from "./pool-member.ts";
import type { PoolTimeouts } from "./retry-policy.ts";
import { withTimeout } from "./timeout.ts";

export type MemberListDependencies = {
  readonly discovery: Discovery;
  /** Creates the client of an engine; the address comes from discovery. */
  readonly connect: (address: URL) => MemberSource;
  readonly timeouts: Pick<PoolTimeouts, "unhealthy">;
  /** Called when a member may have become usable or unusable. */
  readonly onChange: () => void;
};

const checkSeconds = 2;
const checkLimitSeconds = 1;
/** The first check also fetches the engine's facts. */
const firstCheckLimitSeconds = 5;

/**
 * The members of the pool and their health. A member whose address is no longer listed drains: it gets health checks but
 * no new requests until its last request has finished. If its address returns before that, it is reinstated.
 */
export class MemberList {
  readonly members: ReadonlyMap<string, PoolMember>;
  readonly #members = new Map<string, PoolMember>();
  readonly #dependencies: MemberListDependencies;

  constructor(dependencies: MemberListDependencies) {
    this.#dependencies = dependencies;
    this.members = this.#members;
  }

  async discover(signal: AbortSignal): Promise<void> {
    const { discovery, connect, onChange } = this.#dependencies;
    for await (const addresses of discovery.watch(signal)) {
      const listed = new Map(addresses.map((address) => [labelOf(address), address]));
      for (const [label, member] of this.#members) {
        if (listed.has(label)) continue;
        member.drain();
        this.removeClosed(member);
      }
      for (const [label, address] of listed) {
        const known = this.#members.get(label);
        known?.reinstate();
        if (known !== undefined) continue;
        const member = new PoolMember(connect(address));
        this.#members.set(label, member);
        void this.#watch(member, signal);
      }
      onChange();
    }
  }

  removeClosed({ label, isClosed }: PoolMember): void {
    if (isClosed) this.#members.delete(label);
  }

  drainAll(): void {
    for (const member of this.#members.values()) member.drain();
  }

  async #watch(member: PoolMember, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !member.isClosed) {
      await this.#check(member, signal);
      this.#dependencies.onChange();
      const isUnavailable = member.state === "open" || member.state === "unknown";
      const pause = isUnavailable ? member.pauseSeconds : checkSeconds;
      await sleep(pause * 1000, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #check(member: PoolMember, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    using limit = withTimeout(
      member.facts === undefined ? firstCheckLimitSeconds : checkLimitSeconds,
      signal,
    );
    try {
      await member.engine.checkHealth(limit.signal);
      member.facts = await member.engine.getFacts(limit.signal);
      member.recordHealthy();
    } catch (error) {
      const isUnreachable = error instanceof WireError && error.detail.kind === "unreachable";
      const isOtherUsable = (each: PoolMember): boolean => each !== member && each.isUsable();
      const isLast = !isUnreachable && !this.#members.values().some(isOtherUsable);
      member.recordUnhealthy({ startedAt, isLast, timeouts: this.#dependencies.timeouts });
    }
  }
}
