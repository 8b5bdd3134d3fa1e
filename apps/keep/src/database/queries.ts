import type { Database } from "./open-database.ts";

/** The reason why this database cannot serve requests, or undefined. Throws when it is unavailable. */
export async function checkDatabaseReadiness(
  database: Pick<Database, "query" | "migrations">,
): Promise<string | undefined> {
  const [row] = await database.query<{ standby: boolean; schema: number }>({
    text: "SELECT pg_is_in_recovery() AS standby, (SELECT max(number) FROM schema_migration) AS schema",
  });
  if (row?.standby !== false) return "the database is a read-only standby";
  if (row.schema > database.migrations.schemaNumber) {
    return "the database was migrated by a newer Keep since this node started";
  }
  return undefined;
}
