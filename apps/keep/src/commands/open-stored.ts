import { FailureError } from "@hearth-and-keep/failures";
import type { StorageConfig } from "../config.ts";
import { type Database, openDatabase } from "../database/open-database.ts";
import type { Failure } from "../failures.ts";

/** What the argument parser passes to an action of a command with settings. */
export type SettingFlags = Record<string, string | undefined>;

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** The database that the settings name. */
export async function openStored({ databaseUrl, migrationDatabaseUrl }: StorageConfig): Promise<Database> {
  if (databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  return openDatabase({ url: databaseUrl.reveal(), migrationUrl: migrationDatabaseUrl?.reveal() });
}
