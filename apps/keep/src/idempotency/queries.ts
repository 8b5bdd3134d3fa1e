import type { Transaction } from "../database/transaction.ts";

export type KeyRef = { readonly accountId: string; readonly actorId: string; readonly key: string };

/** False when the key was used before. */
export async function claimKey(
  transaction: Transaction,
  { accountId, actorId, key }: KeyRef,
  fingerprint: Buffer,
): Promise<boolean> {
  const rows = await transaction.query({
    name: "claim-idempotency-key",
    text: "INSERT INTO idempotent_answer (account_id, actor_id, key, fingerprint, answer) VALUES ($1, $2, $3, $4, '') ON CONFLICT DO NOTHING RETURNING key",
    values: [accountId, actorId, key, fingerprint],
  });
  return rows.length === 1;
}

export async function storeResult(
  transaction: Transaction,
  { accountId, actorId, key }: KeyRef,
  result: string,
): Promise<void> {
  await transaction.query({
    name: "store-idempotent-result",
    text: "UPDATE idempotent_answer SET answer = $4 WHERE account_id = $1 AND actor_id = $2 AND key = $3",
    values: [accountId, actorId, key, result],
  });
}

/** An UPDATE that changes nothing, so that the read waits for durability like a write. */
export async function readResult(
  transaction: Transaction,
  { accountId, actorId, key }: KeyRef,
): Promise<{ readonly fingerprint: Buffer; readonly answer: string } | undefined> {
  const [row] = await transaction.query<{ fingerprint: Buffer; answer: string }>({
    name: "read-idempotent-result",
    text: "UPDATE idempotent_answer SET created_at = created_at WHERE account_id = $1 AND actor_id = $2 AND key = $3 RETURNING fingerprint, answer",
    values: [accountId, actorId, key],
  });
  return row;
}
