/**
 * @module
 * Idempotent changes: a repeated request with the same `Idempotency-Key` takes effect once. The result is stored in the
 * transaction of the change, so neither exists without the other, even after a crash.
 * Imported by use cases that change something.
 */
import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { claimKey, readResult, storeResult } from "./queries.ts";

/** The client's key, and a fingerprint of the request that detects reuse of the key for a different one. */
export type IdempotencyKey = { readonly key: string; readonly fingerprint: Buffer };

export type IdempotentResult<Result> = { readonly result: Result; readonly isReplay: boolean };

export type IdempotentRequest = {
  readonly actor: Pick<Actor, "accountId" | "id">;
  readonly idempotencyKey: IdempotencyKey | undefined;
};

/** The result must be serializable as JSON and must not contain a secret: it is stored and returned on a replay. */
export function runIdempotent<Result>(
  database: Pick<Database, "inAccount">,
  request: IdempotentRequest,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<IdempotentResult<Result>> {
  return database.inAccount(request.actor.accountId, async (transaction) => {
    const claim = await claimRequest<Result>(transaction, request);
    if ("replay" in claim) return { result: claim.replay, isReplay: true };
    const result = await work(transaction);
    await claim.store(result);
    return { result, isReplay: false };
  });
}

/** The result of an earlier request with the same key, or a function that stores the result of this one. */
export type Claim<Result> = { readonly replay: Result } | { store(result: Result): Promise<void> };

/** Waits for a concurrent request with the same key, on any node, to commit or roll back. */
export async function claimRequest<Result>(
  transaction: Transaction,
  { actor, idempotencyKey }: IdempotentRequest,
): Promise<Claim<Result>> {
  if (idempotencyKey === undefined) return { store: async () => undefined };
  const keyRef = { accountId: actor.accountId, actorId: actor.id, key: idempotencyKey.key };
  if (await claimKey(transaction, keyRef, idempotencyKey.fingerprint)) {
    return { store: (result) => storeResult(transaction, keyRef, JSON.stringify(result)) };
  }
  // Reads with a write, so that the replayed result is durable on the database that serves it (after a failover too).
  const stored = await readResult(transaction, keyRef);
  if (stored === undefined || !stored.fingerprint.equals(idempotencyKey.fingerprint)) {
    throw requestFailure({ kind: "idempotency-mismatch" });
  }
  // The stored result of the same operation.
  return { replay: JSON.parse(stored.answer) as Result };
}
