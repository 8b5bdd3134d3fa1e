import { FailureError } from "@hearth-and-keep/failures";
import type { Pool, PoolClient } from "pg";
import type { Failure } from "../failures.ts";
import type { Migration } from "./read-migrations.ts";

export type AppliedMigrations = { readonly applied: number; readonly schemaNumber: number };

/** Any number will do as long as every Keep uses the same one. */
const lockNumber = 4_711_300_827;

/**
 * Brings the schema up to what this program knows, one transaction per file.
 * The lock lets any number of nodes start at once: the first applies, the others wait and find nothing to do.
 */
export async function applyMigrations(pool: Pool, known: readonly Migration[]): Promise<AppliedMigrations> {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [lockNumber]);
    await client.query(
      "CREATE TABLE IF NOT EXISTS schema_migration (number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
    );
    const present = await readApplied(client);
    refuseStrangers(present, known);
    const missing = known.filter((migration) => !present.has(migration.number));
    for (const migration of missing) await applyOne(client, migration);
    return { applied: missing.length, schemaNumber: known.length };
  } finally {
    // Closing the connection gives the lock back, also after a failure half-way.
    client.release(true);
  }
}

type Applied = ReadonlyMap<number, { readonly name: string; readonly checksum: string }>;

async function readApplied(client: PoolClient): Promise<Applied> {
  const { rows } = await client.query<{ number: number; name: string; checksum: string }>(
    "SELECT number, name, checksum FROM schema_migration ORDER BY number",
  );
  return new Map(rows.map((row) => [row.number, row]));
}

function refuseStrangers(present: Applied, known: readonly Migration[]): void {
  const newest = Math.max(0, ...present.keys());
  if (newest > known.length) {
    throw new FailureError<Failure>({ kind: "database-newer", found: newest, known: known.length });
  }
  for (const migration of known) {
    const before = present.get(migration.number);
    if (before !== undefined && before.checksum !== migration.checksum) {
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
  } catch (problem) {
    await client.query("ROLLBACK");
    throw problem;
  }
}
