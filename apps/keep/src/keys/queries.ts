import type { Database } from "../database/open-database.ts";

/** Records the first key a database ever sees, and tells which one is active, whoever came first. */
export async function readOrRecordActiveKey(
  { pool }: Pick<Database, "pool">,
  fingerprint: string,
): Promise<string> {
  await pool.query(
    "INSERT INTO key_encryption_key (fingerprint, status) SELECT $1, 'active' WHERE NOT EXISTS (SELECT FROM key_encryption_key) ON CONFLICT DO NOTHING",
    [fingerprint],
  );
  const { rows } = await pool.query<{ fingerprint: string }>(
    "SELECT fingerprint FROM key_encryption_key WHERE status = 'active'",
  );
  const [active] = rows;
  if (active === undefined) throw new Error("Cannot tell the active key: the table holds retired ones only");
  return active.fingerprint;
}
