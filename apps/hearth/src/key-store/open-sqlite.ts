import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteMigrations } from "./sqlite-schema.ts";

/** How long a transaction waits for one of another process; each takes well below a millisecond. */
const busyMilliseconds = 5000;

/** Opens or creates the file, for this user only, and brings its tables up to date. */
export function openSqlite(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // SQLite gives its other files the permissions of this one.
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
  const database = new DatabaseSync(path, { timeout: busyMilliseconds });
  try {
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;");
    migrate(database);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function migrate(database: DatabaseSync): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    const applied = Number(database.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
    if (applied > sqliteMigrations.length) throw new Error("it was written by a newer version of Hearth");
    for (const migration of sqliteMigrations.slice(applied)) database.exec(migration);
    database.exec(`PRAGMA user_version = ${sqliteMigrations.length}; COMMIT`);
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}
