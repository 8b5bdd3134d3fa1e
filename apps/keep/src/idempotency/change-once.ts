/**
 * @module
 * Changes that may be asked for twice and happen once. The answer to a request with an `Idempotency-Key` is written in
 * the transaction of its effect, so there is no moment in which one exists without the other, whatever is killed when.
 * Imported by use cases that change something.
 */
import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { claimKey, keepAnswer, touchAnswer } from "./queries.ts";

/** A key that the caller chose, and what tells one request from another. */
export type Once = { readonly key: string; readonly fingerprint: Buffer };

export type Changed<Result> = { readonly result: Result; readonly isReplay: boolean };

type Change = { readonly actor: Pick<Actor, "accountId" | "id">; readonly once: Once | undefined };

/** The result must be JSON without a secret in it: a replay gives it back as it was. */
export function changeOnce<Result>(
  database: Pick<Database, "inAccount">,
  { actor, once }: Change,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Changed<Result>> {
  return database.inAccount(actor.accountId, async (transaction) => {
    if (once === undefined) return { result: await work(transaction), isReplay: false };
    const place = { accountId: actor.accountId, actorId: actor.id, key: once.key };
    // Waits for another request with the same key that is under way on any node.
    if (await claimKey(transaction, place, once.fingerprint)) {
      const result = await work(transaction);
      await keepAnswer(transaction, place, JSON.stringify(result));
      return { result, isReplay: false };
    }
    // A write of its own: what is told again is durable again, wherever the database lives now.
    const known = await touchAnswer(transaction, place);
    if (known === undefined || !known.fingerprint.equals(once.fingerprint)) {
      throw requestFailure({ kind: "idempotency-mismatch" });
    }
    // What the same work gave before.
    return { result: JSON.parse(known.answer) as Result, isReplay: true };
  });
}
