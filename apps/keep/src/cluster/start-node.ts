import type { Database } from "../database/open-database.ts";
import { generateId } from "../generate-id.ts";
import { repeatUntil, sleepUnlessAborted } from "../repeat-until.ts";
import { type CacheInvalidation, createCacheInvalidation } from "./cache-invalidation.ts";
import { readRevocations, removeNode, removeOldRevocations, reportNode } from "./queries.ts";

/** This process as one of the nodes on the same database. */
export type Node = AsyncDisposable & {
  readonly invalidation: CacheInvalidation;
  /** The number of live nodes, including this one. */
  readonly liveNodes: () => number;
  /** Time since the last successful poll for revocations. */
  staleMilliseconds(): number;
};

const pollMilliseconds = 250;
const heartbeatMilliseconds = 2000;
const cleanupMilliseconds = 600_000;
const listenRetryMilliseconds = 1000;
/** Caches are not used when the last successful poll is older than this. */
const maxPollAgeMilliseconds = 2000;
/** Below the 10 seconds after which other nodes stop waiting for this one. */
const maxHeartbeatAgeMilliseconds = 6000;
/** A poll that returns this many clears the caches instead of evicting one by one. */
const maxRevocations = 10_000;

const never = Number.NEGATIVE_INFINITY;

/** Resolves after the first poll and heartbeat, when the other nodes wait for this one's revocations. */
export async function startNode(
  database: Pick<Database, "query" | "listen">,
  channel = "keep_revocation",
): Promise<Node> {
  const id = generateId();
  const state: NodeState = { polledAt: never, reportedAt: never, seen: new Set() };
  const hub = createCacheInvalidation({
    isFresh: () => {
      const now = performance.now();
      return (
        now - state.polledAt < maxPollAgeMilliseconds && now - state.reportedAt < maxHeartbeatAgeMilliseconds
      );
    },
    databaseNow: () => (state.clockOffset ?? Date.now() - performance.now()) + performance.now(),
  });
  let liveNodes = 1;
  const report = async (): Promise<void> => {
    const startedAt = performance.now();
    liveNodes = await reportNode(database, { id, invalidatedUntil: state.invalidatedUntil ?? "-infinity" });
    state.reportedAt = startedAt;
  };
  const poll = async (): Promise<void> => {
    if (await pollOnce(state, hub, database)) await report();
  };
  await poll();
  await report();
  const stop = new AbortController();
  const wakeup = { wake: (): void => undefined };
  const running = [
    repeat(heartbeatMilliseconds, stop.signal, report),
    repeat(cleanupMilliseconds, stop.signal, () => removeOldRevocations(database)),
    repeat(listenRetryMilliseconds, stop.signal, () =>
      database.listen(channel, () => wakeup.wake(), stop.signal),
    ),
    repeatOrWake(wakeup, stop.signal, poll),
  ];
  return {
    invalidation: hub,
    liveNodes: () => liveNodes,
    staleMilliseconds: () => performance.now() - state.polledAt,
    async [Symbol.asyncDispose]() {
      stop.abort();
      wakeup.wake();
      await Promise.all(running);
      await removeNode(database, id).catch(() => undefined);
    },
  };
}

type NodeState = {
  polledAt: number;
  reportedAt: number;
  /** The database's time when this process's monotonic clock was zero. */
  clockOffset?: number;
  invalidatedUntil?: string;
  horizon?: string | undefined;
  seen: ReadonlySet<number>;
};

/** True when there were new revocations; the caller then reports at once, so that waiting requests can continue. */
async function pollOnce(
  state: NodeState,
  hub: ReturnType<typeof createCacheInvalidation>,
  database: Pick<Database, "query">,
): Promise<boolean> {
  const startedAt = performance.now();
  const { horizon } = state;
  // If this poll fails, the next one starts over without a horizon and clears the caches.
  state.horizon = undefined;
  const page = await readRevocations(database, horizon ?? null, maxRevocations);
  // Rows are returned again while an older transaction is still running.
  const unseen = page.revoked.filter(({ seq }) => !state.seen.has(seq));
  if (horizon === undefined || page.revoked.length === maxRevocations) hub.invalidateAll();
  else hub.invalidate(unseen);
  state.seen = new Set(page.revoked.map(({ seq }) => seq));
  state.horizon = page.horizon;
  state.invalidatedUntil = page.readAt;
  // Assumes that the query took no time, so the estimate never runs behind.
  state.clockOffset = page.databaseMilliseconds - startedAt;
  state.polledAt = startedAt;
  return unseen.length > 0;
}

/** Errors are ignored: the work is repeated, and a lasting failure shows as a stale node. */
function repeat(milliseconds: number, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
  return repeatUntil(signal, { milliseconds, run, onError: () => undefined });
}

/** As `repeat`, but `wake` ends the pause early; a wake during a run skips the next pause. */
async function repeatOrWake(
  wakeup: { wake: () => void },
  signal: AbortSignal,
  run: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    wakeup.wake = resolve;
    await run().catch(() => undefined);
    await Promise.race([woken, sleepUnlessAborted(signal, pollMilliseconds)]);
  }
}
