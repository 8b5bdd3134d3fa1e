/**
 * @module
 * The way to PostgreSQL: the pool, the migrations as numbered SQL files, transactions that see one account alone, and
 * what a refused connection means. Promises that a database opened here has exactly the schema this program knows, and
 * that requests run under a role that sees one account at a time.
 * Imported by `queries.ts` files and `main.ts` only; others name its types.
 */
import { FailureError } from "@hearth-and-keep/failures";
import { Pool } from "pg";
import type { Failure } from "../failures.ts";
import { type AppliedMigrations, applyMigrations } from "./apply-migrations.ts";
import { readMigrations } from "./read-migrations.ts";
import { type SharedConnection, shareConnection } from "./shared-connection.ts";
import { enterFirst, nameOutage, runTransaction, type Statement, type Transaction } from "./transaction.ts";

export type Database = AsyncDisposable & {
  readonly migrations: AppliedMigrations;
  /** One statement outside of any account: route tables, keys of the server, nodes, revocations. */
  ask<Row extends object>(statement: Statement): Promise<readonly Row[]>;
  /** Several of them that stand or fall together. */
  inTransaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * One reading statement in an account, in one journey. Its text takes the account from `entered.account::uuid`, which
   * is what makes the database enter the account first; its own values begin with `$2`.
   */
  askInAccount<Row extends object>(accountId: string, statement: Statement): Promise<readonly Row[]>;
  /** Everything in it sees and changes this account alone. Run again when the database asks for it. */
  inAccount<Result>(accountId: string, work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** For housekeeping: sees ids and states of every account, and changes nothing. */
  acrossAccounts<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** A connection of its own that hears what is notified on a channel, until the signal fires. Throws when it breaks. */
  listen(channel: string, heard: () => void, signal: AbortSignal): Promise<void>;
  /** How busy the connections are at this moment. */
  connections(): ConnectionCounts;
};

type ConnectionCounts = {
  readonly inUse: number;
  readonly idle: number;
  /** Callers that wait for one. */
  readonly waiting: number;
};

export type DatabaseAddresses = {
  readonly url: string;
  /** Another login for the migrations, so that the one above owns nothing. */
  readonly migrationUrl?: string | undefined;
  readonly mostConnections?: number;
};

const connectSeconds = 5;
const statementSeconds = 30;
const silenceSeconds = 25;

export async function openDatabase(addresses: DatabaseAddresses): Promise<Database> {
  const migrations = await migrate(addresses.migrationUrl ?? addresses.url);
  const pool = openPool(addresses.url, { max: addresses.mostConnections ?? 10, role: "keep_application" });
  try {
    await pool.query("SELECT 1");
  } catch (problem) {
    await pool.end();
    throw explainRefusal(problem, addresses.url);
  }
  const shared = shareConnection(pool);
  return {
    migrations,
    ask: <Row extends object>(statement: Statement) => askOne<Row>({ pool, shared }, statement),
    inTransaction: (work) => runTransaction(pool, "none", work),
    askInAccount: <Row extends object>(accountId: string, statement: Statement) =>
      askOne<Row>({ pool, shared }, enterFirst(accountId, statement)),
    inAccount: (accountId, work) => runTransaction(pool, { accountId }, work),
    acrossAccounts: (work) => runTransaction(pool, { role: "keep_maintenance" }, work),
    listen: (channel, heard, signal) => listen(pool, { channel, heard, signal }),
    connections: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    async [Symbol.asyncDispose]() {
      await shared[Symbol.asyncDispose]();
      await pool.end();
    },
  };
}

async function migrate(url: string): Promise<AppliedMigrations> {
  const pool = openPool(url, { max: 1 });
  try {
    return await applyMigrations(pool, await readMigrations());
  } catch (problem) {
    throw explainRefusal(problem, url);
  } finally {
    await pool.end();
  }
}

function openPool(url: string, { max, role }: { readonly max: number; readonly role?: string }): Pool {
  const pool = new Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: connectSeconds * 1000,
    statement_timeout: statementSeconds * 1000,
    // For a database that went silent, and so cannot say that the time is over.
    query_timeout: silenceSeconds * 1000,
    application_name: "keep",
    // What does not wait for the one before it is sent along with it.
    pipeline: true,
    ...(role === undefined ? {} : { options: `-c role=${role}` }),
  });
  // An idle connection that breaks is replaced by the next query; without a listener it would end the process.
  pool.on("error", () => undefined);
  return pool;
}

async function askOne<Row extends object>(
  { pool, shared }: { readonly pool: Pool; readonly shared: SharedConnection },
  statement: Statement,
): Promise<readonly Row[]> {
  try {
    const answer = statement.isShort === true ? shared.ask<Row>(statement) : pool.query<Row>(statement);
    return (await answer).rows;
  } catch (problem) {
    throw nameOutage(problem);
  }
}

type Listening = {
  readonly channel: string;
  readonly heard: () => void;
  readonly signal: AbortSignal;
};

async function listen(pool: Pool, { channel, heard, signal }: Listening): Promise<void> {
  const client = await pool.connect();
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  // Heard from the first moment to the last: an error that nobody hears would end the process.
  client.on("error", reject);
  client.once("end", () => reject(new Error("The listening connection ended")));
  ended.catch(() => undefined);
  try {
    client.on("notification", heard);
    await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
    await ended;
  } finally {
    client.release(true);
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
  const user = decodeURIComponent(address.username);
  if (
    ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ECONNRESET", "EHOSTUNREACH"].includes(code) ||
    isTimeout
  ) {
    return new FailureError<Failure>({ kind: "database-unreachable", address: place }, { cause: problem });
  }
  if (code === "28P01" || code === "28000") {
    return new FailureError<Failure>(
      { kind: "database-refuses-user", address: place, user },
      { cause: problem },
    );
  }
  if (code === "3D000") {
    const database = decodeURIComponent(address.pathname.slice(1));
    return new FailureError<Failure>(
      { kind: "database-missing", address: place, database },
      { cause: problem },
    );
  }
  if (code === "42501") {
    return new FailureError<Failure>({ kind: "database-forbids", address: place, user }, { cause: problem });
  }
  return problem;
}
