import { FailureError } from "@hearth-and-keep/failures";
import type { StorageConfig } from "../config.ts";
import { type Database, type DatabaseAddresses, openDatabase } from "../database/open-database.ts";
import type { Failure } from "../failures.ts";

/** What the argument parser passes to an action of a command with settings. */
export type SettingFlags = Record<string, string | undefined>;

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** The database that the settings name. */
export async function openStored(
  { databaseUrl, migrationDatabaseUrl }: StorageConfig,
  { isReadOnly }: Pick<DatabaseAddresses, "isReadOnly"> = {},
): Promise<Database> {
  if (databaseUrl === undefined) throw new FailureError<Failure>({ kind: "database-not-set" });
  const url = databaseUrl.reveal();
  const access = isReadOnly === true ? { isReadOnly } : {};
  return openDatabase({ url, migrationUrl: migrationDatabaseUrl?.reveal(), ...access });
}
