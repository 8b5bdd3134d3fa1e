import type { Database } from "../database/open-database.ts";
import { generateId } from "../generate-id.ts";
import { repeatUntil, sleepUnlessAborted } from "../repeat-until.ts";
import { type CacheInvalidation, createCacheInvalidation } from "./cache-invalidation.ts";
import { readRevoked, removeNode, removeOldRevocations, reportNode } from "./queries.ts";

/** This process among those that serve the same database. */
export type Node = AsyncDisposable & {
  readonly forgetting: CacheInvalidation;
  /** How many serve now, this one among them. */
  liveNodes(): number;
  /** Since this node last learned what was revoked. */
  deafMilliseconds(): number;
};

const pollMilliseconds = 250;
const reportMilliseconds = 2000;
const tidyMilliseconds = 600_000;
const listenAgainMilliseconds = 1000;
/** Older than this, what a node heard is not enough to trust what it remembers. */
const heardMilliseconds = 2000;
/** Below the ten seconds after which others no longer wait for a silent node. */
const reportedMilliseconds = 6000;
/** More than this at once, and forgetting everything is quicker. */
const mostAtOnce = 10_000;

const never = Number.NEGATIVE_INFINITY;

/** Settles when this node is known to the others and hears what they revoke. */
export async function startNode(
  database: Pick<Database, "ask" | "listen">,
  channel = "keep_revocation",
): Promise<Node> {
  const id = generateId();
  const state: NodeState = { heardAt: never, reportedAt: never, known: new Set() };
  const hub = createCacheInvalidation({
    isFresh: () => {
      const now = performance.now();
      return now - state.heardAt < heardMilliseconds && now - state.reportedAt < reportedMilliseconds;
    },
    databaseNow: () => (state.clockAhead ?? Date.now() - performance.now()) + performance.now(),
  });
  let liveNodes = 1;
  const report = async (): Promise<void> => {
    const begunAt = performance.now();
    liveNodes = await reportNode(database, { id, forgottenUntil: state.moment ?? "-infinity" });
    state.reportedAt = begunAt;
  };
  const poll = async (): Promise<void> => {
    if (await hearOnce(state, hub, database)) await report();
  };
  await poll();
  await report();
  const end = new AbortController();
  const bell = { ring: (): void => undefined };
  const running = [
    repeat(reportMilliseconds, end.signal, report),
    repeat(tidyMilliseconds, end.signal, () => removeOldRevocations(database)),
    repeat(listenAgainMilliseconds, end.signal, () =>
      database.listen(channel, () => bell.ring(), end.signal),
    ),
    repeatOrWake(bell, end.signal, poll),
  ];
  return {
    forgetting: hub,
    liveNodes: () => liveNodes,
    deafMilliseconds: () => performance.now() - state.heardAt,
    async [Symbol.asyncDispose]() {
      end.abort();
      bell.ring();
      await Promise.all(running);
      await removeNode(database, id).catch(() => undefined);
    },
  };
}

type NodeState = {
  heardAt: number;
  reportedAt: number;
  /** What the database's clock shows when ours, which never goes back, shows zero. */
  clockAhead?: number;
  moment?: string;
  horizon?: string | undefined;
  known: ReadonlySet<number>;
};

/** True when there was something to forget, so that whoever waits for it learns it at once. */
async function hearOnce(
  state: NodeState,
  hub: ReturnType<typeof createCacheInvalidation>,
  database: Pick<Database, "ask">,
): Promise<boolean> {
  const begunAt = performance.now();
  const { horizon } = state;
  // Until this reading has gone well, the next one does not rest on the last.
  state.horizon = undefined;
  const heard = await readRevoked(database, horizon ?? null, mostAtOnce);
  // The same rows come again as long as an older transaction is under way.
  const fresh = heard.revoked.filter(({ seq }) => !state.known.has(seq));
  if (horizon === undefined || heard.revoked.length === mostAtOnce) hub.forgetEverything();
  else hub.forget(fresh);
  state.known = new Set(heard.revoked.map(({ seq }) => seq));
  state.horizon = heard.horizon;
  state.moment = heard.moment;
  // As if the answer had taken no time: rather late than early.
  state.clockAhead = heard.milliseconds - begunAt;
  state.heardAt = begunAt;
  return fresh.length > 0;
}

/** A turn that fails is tried again like any other: how long nothing was heard is what tells. */
function repeat(milliseconds: number, signal: AbortSignal, turn: () => Promise<void>): Promise<void> {
  return repeatUntil(signal, { milliseconds, run: turn, onError: () => undefined });
}

/** The same, with the pause cut short by a ring; one that comes during a turn counts for the next. */
async function repeatOrWake(
  bell: { ring: () => void },
  signal: AbortSignal,
  turn: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const { promise: rung, resolve } = Promise.withResolvers<void>();
    bell.ring = resolve;
    await turn().catch(() => undefined);
    await Promise.race([rung, sleepUnlessAborted(signal, pollMilliseconds)]);
  }
}
