import { isIPv6 } from "node:net";
import type { RequestHead } from "@hearth-and-keep/http-service";
import { LRUCache } from "lru-cache";
import type { Actor } from "../authorization/actor.ts";
import { maxEntries } from "../cache-options.ts";
import { requestFailure } from "../failures.ts";

export type RateLimits = {
  /** Counts a request of an authenticated caller; throws "rate-limited" above the limit. */
  consume(head: RequestHead, actor: Pick<Actor, "id">): void;
  /** Counts a request of an address to a public route; throws "rate-limited" above the limit. */
  consumeForAddress(address: string, limit: AddressLimit): void;
  /** Limits lookups of invalid credentials per address. */
  badCredentials: {
    secondsUntilNext(address: string): number;
    count(address: string): void;
  };
  /** The RateLimit headers for the response to this request. */
  headersFor(head: RequestHead): Readonly<Record<string, string>>;
};

/** Routes with the same name share one limit per address. */
export type AddressLimit = { readonly name: string; readonly perMinute: number };

export type LimitSettings = {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
  /** The number of nodes; each enforces an equal share of the limits. */
  readonly liveNodes: () => number;
};

const maxBuckets = 100_000;
const minute = 60_000;
const maxDebtMinutes = 5;
const badCredentialsPerMinute = 60;
const noHeaders: Readonly<Record<string, string>> = {};

export function createRateLimits({ readsPerMinute, writesPerMinute, liveNodes }: LimitSettings): RateLimits {
  const callers = createBuckets(liveNodes);
  const addresses = createBuckets(liveNodes);
  const headers = new WeakMap<RequestHead, Readonly<Record<string, string>>>();
  return {
    consume(head, { id }) {
      const isRead = head.method === "GET" || head.method === "HEAD";
      const name = isRead ? "reads" : "writes";
      const perMinute = isRead ? readsPerMinute : writesPerMinute;
      const { left, fullInSeconds, waitSeconds } = callers.consume(`${name} ${id}`, perMinute);
      headers.set(head, {
        "ratelimit-policy": `"${name}";q=${perMinute};w=60`,
        ratelimit: `"${name}";r=${left};t=${fullInSeconds}`,
      });
      assertNoWait(waitSeconds);
    },
    consumeForAddress(address, { name, perMinute }) {
      assertNoWait(addresses.consume(`${name} ${addressKey(address)}`, perMinute).waitSeconds);
    },
    badCredentials: {
      secondsUntilNext: (address) =>
        addresses.peek(`bad ${addressKey(address)}`, badCredentialsPerMinute).waitSeconds,
      count: (address) => addresses.charge(`bad ${addressKey(address)}`, badCredentialsPerMinute),
    },
    headersFor: (head) => headers.get(head) ?? noHeaders,
  };
}

function assertNoWait(waitSeconds: number): void {
  if (waitSeconds > 0) throw requestFailure({ kind: "rate-limited", retryAfterSeconds: waitSeconds });
}

type BucketState = {
  /** Requests that would be accepted now. */
  readonly left: number;
  readonly fullInSeconds: number;
  /** Zero when the request was accepted. */
  readonly waitSeconds: number;
};

type Buckets = {
  consume(key: string, perMinute: number): BucketState;
  /** As `consume`, without consuming. */
  peek(key: string, perMinute: number): BucketState;
  /** Consumes even when empty: the debt of requests that arrived concurrently is paid off by waiting longer. */
  charge(key: string, perMinute: number): void;
};

/**
 * Token buckets that hold one minute's requests. Each is stored as the time at which it will be full again; a bucket
 * unused for a minute is full, so its entry can be evicted.
 */
function createBuckets(liveNodes: () => number): Buckets {
  const fullAt = new LRUCache<string, number>({ ...maxEntries(maxBuckets) });
  const readBucket = (key: string, perMinute: number) => {
    const now = performance.now();
    const interval = minute / Math.max(1, Math.floor(perMinute / liveNodes()));
    const full = Math.max(now, fullAt.get(key) ?? now);
    // 0.999 instead of 1, so that rounding does not cost the last request of a full bucket.
    return { now, interval, full, missing: full + interval * 0.999 - now - minute };
  };
  const store = (key: string, full: number, now: number): void => {
    // At least a minute: with shorter times the cache would often be completely stale, and clearing it is expensive.
    fullAt.set(key, full, { ttl: Math.max(minute, Math.ceil(full - now)), size: 1 });
  };
  const toState = (
    { now, interval, full, missing }: ReturnType<typeof readBucket>,
    cost: number,
  ): BucketState => ({
    left: Math.max(0, Math.floor((minute - (full + cost - now)) / interval + 0.001)),
    fullInSeconds: Math.ceil((full + cost - now) / 1000),
    waitSeconds: missing > 0 ? Math.ceil(missing / 1000) : 0,
  });
  return {
    consume(key, perMinute) {
      const bucket = readBucket(key, perMinute);
      const cost = bucket.missing > 0 ? 0 : bucket.interval;
      store(key, bucket.full + cost, bucket.now);
      return toState(bucket, cost);
    },
    peek: (key, perMinute) => toState(readBucket(key, perMinute), 0),
    charge(key, perMinute) {
      const { now, interval, full } = readBucket(key, perMinute);
      store(key, Math.min(full + interval, now + maxDebtMinutes * minute), now);
    },
  };
}

/** The IPv4 address, or the /64 prefix of an IPv6 address, because a single host usually controls a whole /64. */
export function addressKey(address: string): string {
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
