import type { Database } from "./open-database.ts";

/** Why requests cannot be served from this database now, in plain words; undefined when they can. Fails when it is away. */
export async function whyNotReady(
  database: Pick<Database, "ask" | "migrations">,
): Promise<string | undefined> {
  const [row] = await database.ask<{ standby: boolean; schema: number }>({
    text: "SELECT pg_is_in_recovery() AS standby, (SELECT max(number) FROM schema_migration) AS schema",
  });
  if (row?.standby !== false) return "the database is a standby that takes no writes";
  if (row.schema > database.migrations.schemaNumber) {
    return "a newer Keep has set up the database since this one started";
  }
  return undefined;
}
