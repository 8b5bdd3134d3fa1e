import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Statement, Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import {
  type Claim,
  claimRequest,
  type IdempotencyKey,
  type IdempotentResult,
} from "../idempotency/run-idempotent.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import type { Preconditions } from "../preconditions.ts";
import { type OpenChanges, type OpenDependencies, openChanges, type VaultChange } from "./open-changes.ts";

/**
 * Runs the changes of a node, those of one vault one after the other. Changes that arrive while another one commits share
 * the next transaction: a vault is locked, stored and committed once for all of them. Each still succeeds or fails alone.
 */
export type ChangeQueue = {
  /** Changes a live vault. */
  run<Result>(
    request: QueuedRequest,
    work: (change: VaultChange) => Promise<Result>,
  ): Promise<IdempotentResult<Result>>;
};

/** A requested change in one vault. */
export type ChangeRequest = {
  readonly actor: Actor;
  readonly vaultId: string;
  readonly idempotencyKey: IdempotencyKey | undefined;
  readonly preconditions: Preconditions;
  /** The path of the only secret that the change reads and writes, if it is a single one. */
  readonly onlyPath?: string;
};

type QueuedRequest = Omit<ChangeRequest, "preconditions">;

export type QueueDependencies = OpenDependencies & { readonly database: Pick<Database, "inAccount"> };

export type ChangeDependencies = QueueDependencies & { readonly changeQueue: ChangeQueue };

const maxChangesPerTransaction = 64;
const maxWaiting = 256;
const maxReturnMilliseconds = 3;

export function createChangeQueue(dependencies: QueueDependencies): ChangeQueue {
  const queues = new Map<string, WaitingList<Member>>();
  const runAll = async (vaultRef: VaultRef, queue: WaitingList<Member>): Promise<void> => {
    while (queue.length > 0) {
      const members = queue.take(maxChangesPerTransaction);
      const startedAt = performance.now();
      await runTogether(vaultRef, members, dependencies);
      await waitForReturning(queue, { members: members.length, startedAt });
    }
    queues.delete(queueKey(vaultRef));
  };
  return {
    run<Result>({ vaultId, ...request }: QueuedRequest, work: (change: VaultChange) => Promise<Result>) {
      const vaultRef = { accountId: request.actor.accountId, vaultId };
      const { promise, resolve, reject } = Promise.withResolvers<IdempotentResult<Result>>();
      const member: Member<Result> = { ...request, work, resolve, reject };
      const waiting = queues.get(queueKey(vaultRef));
      if (waiting === undefined) {
        const queue = new WaitingList<Member>();
        // Members of a queue have results of different types, which only their own callers see.
        queue.add(member as Member);
        queues.set(queueKey(vaultRef), queue);
        void runAll(vaultRef, queue);
      } else if (waiting.length >= maxWaiting) reject(requestFailure({ kind: "account-busy" }));
      // As above.
      else waiting.add(member as Member);
      return promise;
    },
  };
}

/** Items in the order of their arrival. */
export class WaitingList<Item> {
  readonly #items: Item[] = [];
  #awaited: { readonly count: number; readonly resolve: () => void } | undefined;

  get length(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    this.#items.push(item);
    if (this.#awaited !== undefined && this.#items.length >= this.#awaited.count) this.#awaited.resolve();
  }

  take(max: number): Item[] {
    return this.#items.splice(0, max);
  }

  /** Waits for this many items, but no longer than this. */
  async waitUntilHolds(count: number, milliseconds: number): Promise<void> {
    if (this.#items.length >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    this.#awaited = { count, resolve };
    await promise;
    clearTimeout(timer);
    this.#awaited = undefined;
  }
}

/**
 * Clients that send one change after another are back a moment after their last one has committed. Without them, the
 * next transaction would have only those that waited, and they in turn would wait for all of it.
 */
async function waitForReturning(
  queue: WaitingList<Member>,
  { members, startedAt }: { readonly members: number; readonly startedAt: number },
): Promise<void> {
  const expected = Math.min(members + queue.length, maxChangesPerTransaction);
  // A client on its own waits for nobody.
  if (expected === 1) return;
  const milliseconds = Math.min(maxReturnMilliseconds, (performance.now() - startedAt) / 2);
  await queue.waitUntilHolds(expected, milliseconds);
}

type Member<Result = unknown> = Omit<QueuedRequest, "vaultId"> & {
  readonly work: (change: VaultChange) => Promise<Result>;
  readonly resolve: (result: IdempotentResult<Result>) => void;
  readonly reject: (error: unknown) => void;
};

type Settled = { readonly result: IdempotentResult<unknown> } | { readonly error: unknown };

/** Names the account too: another one may use the same id for a vault that it does not have. */
function queueKey({ accountId, vaultId }: VaultRef): string {
  return `${vaultId} ${accountId}`;
}

/** A change that failed after it had written something takes back the others too, which then run alone. */
class TransactionSpoiled extends Error {}

async function runTogether(
  vaultRef: VaultRef,
  members: readonly Member[],
  dependencies: QueueDependencies,
): Promise<void> {
  try {
    const settled = await dependencies.database.inAccount(vaultRef.accountId, async (given) => {
      const transaction = watchErrors(given);
      const changes = openChanges(transaction, { vaultRef, state: "live", dependencies });
      const outcomes = await runMembers(transaction, changes, members);
      await changes.end();
      return outcomes;
    });
    for (const [index, member] of members.entries()) settle(member, settled[index]);
  } catch (error) {
    if (error instanceof TransactionSpoiled)
      for (const member of members) await runTogether(vaultRef, [member], dependencies);
    else for (const { reject } of members) reject(error);
  }
}

function settle({ resolve, reject }: Member, outcome: Settled | undefined): void {
  if (outcome === undefined) reject(new Error("A change has no outcome"));
  else if ("error" in outcome) reject(outcome.error);
  else resolve(outcome.result);
}

type WatchedTransaction = Transaction & {
  /** Throws the first error of the database, after which the transaction can only be rolled back. */
  assertUsable(): void;
};

function watchErrors(transaction: Transaction): WatchedTransaction {
  const errors: unknown[] = [];
  return {
    ...transaction,
    query: <Row extends object>(statement: Statement) =>
      transaction.query<Row>(statement).catch((error: unknown) => {
        errors.push(error);
        throw error;
      }),
    assertUsable() {
      if (errors.length > 0) throw errors[0];
    },
  };
}

async function runMembers(
  transaction: WatchedTransaction,
  changes: OpenChanges,
  members: readonly Member[],
): Promise<readonly Settled[]> {
  const [only, ...others] = members;
  if (only !== undefined && others.length === 0)
    return [{ result: await runMember(changes, only, await claimRequest(transaction, only)) }];
  // All before the vault is locked: another node may hold a key and wait for the vault.
  const claims = new Map<Member, Claim<unknown>>();
  const byKey = members.toSorted((left, right) => compareKeys(left, right));
  for (const member of byKey) {
    const claim = await claimRequest(transaction, member).catch(() => undefined);
    transaction.assertUsable();
    if (claim === undefined) throw new TransactionSpoiled();
    claims.set(member, claim);
  }
  const outcomes: Settled[] = [];
  for (const step of splitIntoSteps(members)) {
    const settled = await Promise.allSettled(
      step.map((member) => runMember(changes, member, claims.get(member))),
    );
    transaction.assertUsable();
    for (const [index, outcome] of settled.entries()) {
      const isFailed = outcome.status === "rejected";
      const hasWritten = !changes.isIntact() || step[index]?.idempotencyKey !== undefined;
      if (isFailed && hasWritten) throw new TransactionSpoiled();
      outcomes.push(isFailed ? { error: outcome.reason } : { result: outcome.value });
    }
  }
  return outcomes;
}

/** Changes of different secrets run at once, so that their statements are pipelined; all others run alone, in order. */
function splitIntoSteps(members: readonly Member[]): readonly (readonly Member[])[] {
  const steps: Member[][] = [];
  let paths = new Set<string>();
  for (const member of members) {
    const { onlyPath } = member;
    const isAlone = onlyPath === undefined || paths.size === 0 || paths.has(onlyPath);
    if (isAlone) {
      steps.push([member]);
      paths = new Set();
    } else steps.at(-1)?.push(member);
    if (onlyPath !== undefined) paths.add(onlyPath);
  }
  return steps;
}

function compareKeys({ idempotencyKey: left }: Member, { idempotencyKey: right }: Member): number {
  return (left?.key ?? "") < (right?.key ?? "") ? -1 : 1;
}

async function runMember(
  changes: OpenChanges,
  { actor, work }: Member,
  claim: Claim<unknown> | undefined,
): Promise<IdempotentResult<unknown>> {
  if (claim === undefined) throw new TransactionSpoiled();
  if ("replay" in claim) return { result: claim.replay, isReplay: true };
  const result = await changes.run(actor, work);
  await claim.store(result);
  return { result, isReplay: false };
}
