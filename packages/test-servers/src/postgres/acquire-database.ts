import { cloneFromTemplate, type DatabaseTemplate } from "./database-template.ts";
import type { PostgresDatabase } from "./databases.ts";
import { requestPostgres } from "./shared-server.ts";

/**
 * A database for one test file on the server that the whole test run shares.
 * `await using database = await acquireDatabase({ name: "vault schema", prepare: applyMigrations })`
 */
export async function acquireDatabase(template: DatabaseTemplate): Promise<PostgresDatabase> {
  return cloneFromTemplate(await requestPostgres(await findSharedUrl()), template);
}

async function findSharedUrl(): Promise<string> {
  // Imported lazily, because benchmarks use this package outside the test runner.
  const { inject } = await import("vitest");
  // Undefined, despite its type, when the configuration does not include global-setup.ts.
  const url = inject("sharedPostgresUrl") as string | undefined;
  if (url === undefined) {
    throw new Error(
      'Cannot acquire a database: "postgres/global-setup.ts" is not a global setup of this test run',
    );
  }
  return url;
}
