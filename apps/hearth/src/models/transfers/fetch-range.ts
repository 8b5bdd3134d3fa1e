import { modelFailure } from "../model-failure.ts";
import type { BlobSource, ByteRange, OpenRange } from "../registry/blob-source.ts";
import { TransientError } from "../registry/retry-policy.ts";
import type { ConnectionLimiter } from "./connection-limiter.ts";
import { blockBytes, type PartialFile } from "./partial-file.ts";
import type { RateLimit } from "./rate-limit.ts";

export type FetchDependencies = {
  readonly connectionLimiter: ConnectionLimiter;
  readonly rateLimit: RateLimit;
  /** A connection that is idle for this long, or slower than the minimum over this time, is given up. */
  readonly idleSeconds: number;
  readonly minBytesPerSecond: number;
};

export type RangeFetch = {
  readonly range: ByteRange;
  readonly source: BlobSource;
  readonly file: PartialFile;
  readonly signal: AbortSignal;
  readonly onResponse: (opened: OpenRange) => void;
  readonly onBlock: () => void;
};

/** Fetches the missing blocks of one range into the file; incomplete blocks are discarded. */
export async function fetchRange(
  { range, source, file, signal, onResponse, onBlock }: RangeFetch,
  dependencies: FetchDependencies,
): Promise<void> {
  const { connectionLimiter, idleSeconds } = dependencies;
  using stack = new DisposableStack();
  stack.use(await connectionLimiter.acquire(source.host, signal));
  await using opened = await source.open(range, { signal, idleSeconds });
  onResponse(opened);
  const checkSpeed = createSpeedMonitor(source.host, dependencies);
  let position = opened.range.first;
  let pending: Uint8Array[] = [];
  let blocks = 0;
  for await (const chunk of opened.body) {
    const waitedMilliseconds = await throttle(chunk, dependencies.rateLimit, signal);
    checkSpeed(chunk.length, waitedMilliseconds);
    for (let rest = chunk; rest.length > 0 && position <= opened.range.last; ) {
      const block = Math.floor(position / blockBytes);
      const end = block * blockBytes + file.lengthOf(block);
      const slice = rest.subarray(0, end - position);
      pending.push(slice);
      position += slice.length;
      rest = rest.subarray(slice.length);
      if (position < end) continue;
      if (!file.has(block)) {
        await file.write(block, pending);
        onBlock();
      }
      pending = [];
      blocks += 1;
    }
    if (position > opened.range.last) break;
  }
  // A server may send a shorter range than requested, as long as it has at least one full block.
  const isBroken = position <= opened.range.last || (pending.length > 0 && blocks === 0);
  if (!isBroken) return;
  throw new TransientError(
    modelFailure({ kind: "registry-unreachable", host: source.host, reason: "broken" }),
  );
}

/** Waits until the chunk is within the rate limit; returns how long that took. */
async function throttle(chunk: Uint8Array, rateLimit: RateLimit, signal: AbortSignal): Promise<number> {
  const waiting = rateLimit.reserve(chunk.length, signal);
  if (waiting === undefined) return 0;
  const startedAt = performance.now();
  await waiting;
  return performance.now() - startedAt;
}

/** Throws when too few bytes arrive per interval; time spent on our own rate limit does not count. */
function createSpeedMonitor(
  host: string,
  { idleSeconds, minBytesPerSecond }: FetchDependencies,
): (bytes: number, waitedMilliseconds: number) => void {
  const intervalMilliseconds = idleSeconds * 1000;
  let startedAt = performance.now();
  let receivedBytes = 0;
  return (bytes, waitedMilliseconds) => {
    receivedBytes += bytes;
    startedAt += waitedMilliseconds;
    if (performance.now() - startedAt < intervalMilliseconds) return;
    if (receivedBytes < minBytesPerSecond * idleSeconds) {
      throw new TransientError(modelFailure({ kind: "registry-unreachable", host, reason: "timed-out" }));
    }
    startedAt = performance.now();
    receivedBytes = 0;
  };
}
