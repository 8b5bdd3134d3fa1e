import { isIPv6 } from "node:net";
import type { RequestHead } from "@hearth-and-keep/http-service";
import { LRUCache } from "lru-cache";
import type { Actor } from "../authorization/actor.ts";
import { maxEntries } from "../cache-options.ts";
import { requestFailure } from "../failures.ts";

export type RateLimits = {
  /** Counts a request of somebody we know; throws when it is one too many. */
  take(head: RequestHead, actor: Pick<Actor, "id">): void;
  /** Counts a request of an address on a row that anybody may call; throws when it is one too many. */
  takeFrom(address: string, limit: AddressLimit): void;
  /** Whether an address may have another credential looked up; says when, if not. */
  badCredentials: {
    secondsUntilNext(address: string): number;
    count(address: string): void;
  };
  /** What the answer to this request says of its limit. */
  headersFor(head: RequestHead): Readonly<Record<string, string>>;
};

/** Rows with the same name share what an address may ask for. */
export type AddressLimit = { readonly name: string; readonly perMinute: number };

export type LimitSettings = {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
  /** How many nodes share the limits: each takes its part. */
  readonly liveNodes: () => number;
};

const mostBuckets = 100_000;
const minute = 60_000;
const mostMinutesOwed = 5;
const badCredentialsPerMinute = 60;
const none: Readonly<Record<string, string>> = {};

export function createRateLimits({ readsPerMinute, writesPerMinute, liveNodes }: LimitSettings): RateLimits {
  const callers = createBuckets(liveNodes);
  const addresses = createBuckets(liveNodes);
  const headers = new WeakMap<RequestHead, Readonly<Record<string, string>>>();
  return {
    take(head, { id }) {
      const isRead = head.method === "GET" || head.method === "HEAD";
      const name = isRead ? "reads" : "writes";
      const perMinute = isRead ? readsPerMinute : writesPerMinute;
      const { left, fullInSeconds, waitSeconds } = callers.take(`${name} ${id}`, perMinute);
      headers.set(head, {
        "ratelimit-policy": `"${name}";q=${perMinute};w=60`,
        ratelimit: `"${name}";r=${left};t=${fullInSeconds}`,
      });
      refuseIfAny(waitSeconds);
    },
    takeFrom(address, { name, perMinute }) {
      refuseIfAny(addresses.take(`${name} ${neighbourhoodOf(address)}`, perMinute).waitSeconds);
    },
    badCredentials: {
      secondsUntilNext: (address) =>
        addresses.look(`bad ${neighbourhoodOf(address)}`, badCredentialsPerMinute).waitSeconds,
      count: (address) => addresses.owe(`bad ${neighbourhoodOf(address)}`, badCredentialsPerMinute),
    },
    headersFor: (head) => headers.get(head) ?? none,
  };
}

function refuseIfAny(waitSeconds: number): void {
  if (waitSeconds > 0) throw requestFailure({ kind: "rate-limited", retryAfterSeconds: waitSeconds });
}

type Taken = {
  /** Requests that would be let through now. */
  readonly left: number;
  readonly fullInSeconds: number;
  /** Zero when there was one. */
  readonly waitSeconds: number;
};

type Buckets = {
  take(key: string, perMinute: number): Taken;
  /** The same without taking. */
  look(key: string, perMinute: number): Taken;
  /** Takes one whether it is there or not: what came at once before anybody could refuse it is paid for by waiting. */
  owe(key: string, perMinute: number): void;
};

/**
 * Buckets that hold a minute's requests and fill evenly. Of each only the moment is kept at which it will be full; one
 * that nobody has touched for a minute is full, and need not be kept.
 */
function createBuckets(liveNodes: () => number): Buckets {
  const fullAt = new LRUCache<string, number>({ ...maxEntries(mostBuckets) });
  const measure = (key: string, perMinute: number) => {
    const now = performance.now();
    const each = minute / Math.max(1, Math.floor(perMinute / liveNodes()));
    const full = Math.max(now, fullAt.get(key) ?? now);
    // A thousandth of a request, so that the last of a full bucket is not lost to rounding.
    return { now, each, full, missing: full + each * 0.999 - now - minute };
  };
  const keep = (key: string, full: number, now: number): void => {
    // At least a minute: a cache whose last entry is stale is emptied as a whole, which is dear if every request does it.
    fullAt.set(key, full, { ttl: Math.max(minute, Math.ceil(full - now)) });
  };
  const describe = ({ now, each, full, missing }: ReturnType<typeof measure>, taken: number): Taken => ({
    left: Math.max(0, Math.floor((minute - (full + taken - now)) / each + 0.001)),
    fullInSeconds: Math.ceil((full + taken - now) / 1000),
    waitSeconds: missing > 0 ? Math.ceil(missing / 1000) : 0,
  });
  return {
    take(key, perMinute) {
      const found = measure(key, perMinute);
      const taken = found.missing > 0 ? 0 : found.each;
      keep(key, found.full + taken, found.now);
      return describe(found, taken);
    },
    look: (key, perMinute) => describe(measure(key, perMinute), 0),
    owe(key, perMinute) {
      const { now, each, full } = measure(key, perMinute);
      keep(key, Math.min(full + each, now + mostMinutesOwed * minute), now);
    },
  };
}

/** One home or host has a whole /64 of IPv6, so that is what counts as one address. */
export function neighbourhoodOf(address: string): string {
  const [plain = ""] = address.split("%");
  if (!isIPv6(plain) || plain.includes(".")) return plain.slice(plain.lastIndexOf(":") + 1);
  const [start = "", end] = plain.toLowerCase().split("::");
  const before = start.split(":").filter((group) => group !== "");
  const after = (end ?? "").split(":").filter((group) => group !== "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const groups = end === undefined ? before : [...before, ...zeros, ...after];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
