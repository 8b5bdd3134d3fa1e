import { FailureError } from "@hearth-and-keep/failures";
import type { Failure } from "../failures.ts";
import { type AppliedMigrations, applyMigrations, findMigrated } from "./apply-migrations.ts";
import { openPool } from "./open-pool.ts";
import { readMigrations } from "./read-migrations.ts";

/** Brings the schema up to date; throws a failure that says what is wrong with the connection. */
export async function migrate(url: string): Promise<AppliedMigrations> {
  const pool = openPool(url, { max: 1 });
  try {
    return await applyMigrations(pool, await readMigrations());
  } catch (error) {
    throw toStartFailure(error, url);
  } finally {
    await pool.end();
  }
}

/** Throws a failure unless the schema is this version's; changes nothing. */
export async function checkMigrated(url: string): Promise<AppliedMigrations> {
  const pool = openPool(url, { max: 1 });
  try {
    return await findMigrated(pool, await readMigrations());
  } catch (error) {
    throw toStartFailure(error, url);
  } finally {
    await pool.end();
  }
}

/** The failures name the host without credentials; unrecognized errors are returned unchanged. */
export function toStartFailure(error: unknown, url: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const isTimeout = error instanceof Error && error.message.includes("timeout");
  const location = URL.canParse(url) ? new URL(url) : undefined;
  if (location === undefined)
    return new FailureError<Failure>({ kind: "database-not-set" }, { cause: error });
  const address = location.host;
  const user = decodeURIComponent(location.username);
  if (
    ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ECONNRESET", "EHOSTUNREACH"].includes(code) ||
    isTimeout
  ) {
    return new FailureError<Failure>({ kind: "database-unreachable", address }, { cause: error });
  }
  if (code === "28P01" || code === "28000") {
    return new FailureError<Failure>({ kind: "database-refuses-user", address, user }, { cause: error });
  }
  if (code === "3D000") {
    const database = decodeURIComponent(location.pathname.slice(1));
    return new FailureError<Failure>({ kind: "database-missing", address, database }, { cause: error });
  }
  if (code === "42501") {
    return new FailureError<Failure>({ kind: "database-forbids", address, user }, { cause: error });
  }
  return error;
}
