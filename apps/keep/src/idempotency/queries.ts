import type { Transaction } from "../database/transaction.ts";

export type KeyPlace = { readonly accountId: string; readonly actorId: string; readonly key: string };

/** True for the first; false when the key was used before. */
export async function claimKey(
  transaction: Transaction,
  { accountId, actorId, key }: KeyPlace,
  fingerprint: Buffer,
): Promise<boolean> {
  const rows = await transaction.query({
    name: "claim-idempotency-key",
    text: "INSERT INTO idempotent_answer (account_id, actor_id, key, fingerprint, answer) VALUES ($1, $2, $3, $4, '') ON CONFLICT DO NOTHING RETURNING key",
    values: [accountId, actorId, key, fingerprint],
  });
  return rows.length === 1;
}

export async function keepAnswer(
  transaction: Transaction,
  { accountId, actorId, key }: KeyPlace,
  answer: string,
): Promise<void> {
  await transaction.query({
    name: "keep-idempotent-answer",
    text: "UPDATE idempotent_answer SET answer = $4 WHERE account_id = $1 AND actor_id = $2 AND key = $3",
    values: [accountId, actorId, key, answer],
  });
}

export async function touchAnswer(
  transaction: Transaction,
  { accountId, actorId, key }: KeyPlace,
): Promise<{ readonly fingerprint: Buffer; readonly answer: string } | undefined> {
  const [row] = await transaction.query<{ fingerprint: Buffer; answer: string }>({
    name: "touch-idempotent-answer",
    text: "UPDATE idempotent_answer SET created_at = created_at WHERE account_id = $1 AND actor_id = $2 AND key = $3 RETURNING fingerprint, answer",
    values: [accountId, actorId, key],
  });
  return row;
}
