/**
 * @module
 * The way to PostgreSQL: the pool, the migrations as numbered SQL files, and what a refused connection means.
 * Promises that a database opened here has exactly the schema this program knows.
 * Imported by `queries.ts` files and `main.ts` only.
 */
import { FailureError } from "@hearth-and-keep/failures";
import { Pool } from "pg";
import type { Failure } from "../failures.ts";
import { type AppliedMigrations, applyMigrations } from "./apply-migrations.ts";
import { readMigrations } from "./read-migrations.ts";

export type Database = AsyncDisposable & {
  readonly pool: Pool;
  readonly migrations: AppliedMigrations;
};

const mostConnections = 10;
const connectSeconds = 5;
const statementSeconds = 30;

export async function openDatabase(url: string): Promise<Database> {
  const pool = new Pool({
    connectionString: url,
    max: mostConnections,
    connectionTimeoutMillis: connectSeconds * 1000,
    statement_timeout: statementSeconds * 1000,
    application_name: "keep",
  });
  // An idle connection that breaks is replaced by the next query; without a listener it would end the process.
  pool.on("error", () => undefined);
  try {
    const migrations = await applyMigrations(pool, await readMigrations());
    return { pool, migrations, [Symbol.asyncDispose]: () => pool.end() };
  } catch (problem) {
    await pool.end();
    throw explainRefusal(problem, url);
  }
}

/** Names the place without the password; anything we cannot name is passed on as it is. */
function explainRefusal(problem: unknown, url: string): unknown {
  const code = problem instanceof Error && "code" in problem ? String(problem.code) : "";
  const isTimeout = problem instanceof Error && problem.message.includes("timeout");
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined)
    return new FailureError<Failure>({ kind: "database-not-set" }, { cause: problem });
  const place = address.host;
  if (
    ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ECONNRESET", "EHOSTUNREACH"].includes(code) ||
    isTimeout
  ) {
    return new FailureError<Failure>({ kind: "database-unreachable", place }, { cause: problem });
  }
  if (code === "28P01" || code === "28000") {
    const user = decodeURIComponent(address.username);
    return new FailureError<Failure>({ kind: "database-refuses-user", place, user }, { cause: problem });
  }
  if (code === "3D000") {
    const database = decodeURIComponent(address.pathname.slice(1));
    return new FailureError<Failure>({ kind: "database-missing", place, database }, { cause: problem });
  }
  return problem;
}
