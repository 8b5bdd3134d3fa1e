import { FailureError } from "@hearth-and-keep/failures";
import type { Pool, PoolClient } from "pg";
import type { Failure } from "../failures.ts";
import type { Migration } from "./read-migrations.ts";

export type AppliedMigrations = { readonly applied: number; readonly schemaNumber: number };

/** An arbitrary number, the same in every version of Keep. */
const advisoryLockId = 4_711_300_827;

/**
 * Applies pending migrations, each in its own transaction. The advisory lock allows several nodes to start at once: the
 * first one migrates, the others wait and find nothing to do.
 */
export async function applyMigrations(
  pool: Pool,
  migrations: readonly Migration[],
): Promise<AppliedMigrations> {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [advisoryLockId]);
    await client.query(
      "CREATE TABLE IF NOT EXISTS schema_migration (number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
    );
    const applied = await readApplied(client);
    assertCompatible(applied, migrations);
    const missing = migrations.filter((migration) => !applied.has(migration.number));
    for (const migration of missing) await applyOne(client, migration);
    return { applied: missing.length, schemaNumber: migrations.length };
  } finally {
    // Closing the connection releases the lock, also after an error.
    client.release(true);
  }
}

/** As after `applyMigrations`, of a database to which all were applied before. */
export async function findMigrated(pool: Pool, migrations: readonly Migration[]): Promise<AppliedMigrations> {
  const {
    rows: [found],
  } = await pool.query<{ table: string | null }>("SELECT to_regclass('schema_migration') AS table");
  const applied: Applied = found?.table == null ? new Map() : await readApplied(pool);
  assertCompatible(applied, migrations);
  if (applied.size < migrations.length)
    throw new FailureError<Failure>({
      kind: "database-older",
      found: applied.size,
      known: migrations.length,
    });
  return { applied: 0, schemaNumber: migrations.length };
}

type Applied = ReadonlyMap<number, { readonly name: string; readonly checksum: string }>;

async function readApplied(client: Pool | PoolClient): Promise<Applied> {
  const { rows } = await client.query<{ number: number; name: string; checksum: string }>(
    "SELECT number, name, checksum FROM schema_migration ORDER BY number",
  );
  return new Map(rows.map((row) => [row.number, row]));
}

function assertCompatible(applied: Applied, migrations: readonly Migration[]): void {
  const newest = Math.max(0, ...applied.keys());
  if (newest > migrations.length) {
    throw new FailureError<Failure>({ kind: "database-newer", found: newest, known: migrations.length });
  }
  for (const migration of migrations) {
    const appliedMigration = applied.get(migration.number);
    if (appliedMigration !== undefined && appliedMigration.checksum !== migration.checksum) {
      throw new FailureError<Failure>({ kind: "migration-changed", name: migration.name });
    }
  }
}

async function applyOne(client: PoolClient, migration: Migration): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query(migration.sql);
    await client.query("INSERT INTO schema_migration (number, name, checksum) VALUES ($1, $2, $3)", [
      migration.number,
      migration.name,
      migration.checksum,
    ]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}
