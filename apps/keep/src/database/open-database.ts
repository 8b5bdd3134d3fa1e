/**
 * @module
 * Access to PostgreSQL: the connection pool, migrations as numbered SQL files, transactions scoped to one account, and
 * the mapping of connection errors. Guarantees that an opened database has exactly the schema of this version, and that
 * requests run under a role that sees one account at a time.
 * Imported by `queries.ts` files and `main.ts`; other code imports only its types.
 */
import { FailureError } from "@hearth-and-keep/failures";
import { Pool } from "pg";
import type { Failure } from "../failures.ts";
import { type AppliedMigrations, applyMigrations } from "./apply-migrations.ts";
import { readMigrations } from "./read-migrations.ts";
import { type SharedConnection, shareConnection } from "./shared-connection.ts";
import {
  runTransaction,
  type Statement,
  scopeToAccount,
  type Transaction,
  toOutageFailure,
} from "./transaction.ts";

export type Database = AsyncDisposable & {
  readonly migrations: AppliedMigrations;
  /** One statement outside any account: route tables, server keys, nodes, revocations. */
  query<Row extends object>(statement: Statement): Promise<readonly Row[]>;
  /** Several such statements, atomically. */
  inTransaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * One read-only statement in an account, in one round trip. The text must take the account id from
   * `entered.account::uuid`, which forces the account to be set first; its own parameters start at `$2`.
   */
  queryInAccount<Row extends object>(accountId: string, statement: Statement): Promise<readonly Row[]>;
  /** A transaction that sees only this account. Repeated after serialization failures and deadlocks. */
  inAccount<Result>(accountId: string, work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** For background work: sees ids and states of all accounts, read-only. */
  acrossAccounts<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** Listens on a channel over its own connection until the signal aborts; throws when the connection breaks. */
  listen(channel: string, onNotification: () => void, signal: AbortSignal): Promise<void>;
  /** The current state of the connection pool. */
  connections(): ConnectionCounts;
};

type ConnectionCounts = {
  readonly inUse: number;
  readonly idle: number;
  /** Callers waiting for a connection. */
  readonly waiting: number;
};

export type DatabaseAddresses = {
  readonly url: string;
  /** Another login for migrations, so that `url` need not own the schema. */
  readonly migrationUrl?: string | undefined;
  readonly maxConnections?: number;
};

const connectSeconds = 5;
const statementSeconds = 30;
const responseSeconds = 25;

export async function openDatabase(addresses: DatabaseAddresses): Promise<Database> {
  const migrations = await migrate(addresses.migrationUrl ?? addresses.url);
  const pool = openPool(addresses.url, { max: addresses.maxConnections ?? 10, role: "keep_application" });
  try {
    await pool.query("SELECT 1");
  } catch (error) {
    await pool.end();
    throw toStartFailure(error, addresses.url);
  }
  const shared = shareConnection(pool);
  return {
    migrations,
    query: <Row extends object>(statement: Statement) => runQuery<Row>({ pool, shared }, statement),
    inTransaction: (work) => runTransaction(pool, "none", work),
    queryInAccount: <Row extends object>(accountId: string, statement: Statement) =>
      runQuery<Row>({ pool, shared }, scopeToAccount(accountId, statement)),
    inAccount: (accountId, work) => runTransaction(pool, { accountId }, work),
    acrossAccounts: (work) => runTransaction(pool, { role: "keep_maintenance" }, work),
    listen: (channel, onNotification, signal) => listen(pool, { channel, onNotification, signal }),
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
  } catch (error) {
    throw toStartFailure(error, url);
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
    // Client-side timeout, for a database that no longer responds at all.
    query_timeout: responseSeconds * 1000,
    application_name: "keep",
    // Sends a query without waiting for the result of the previous one.
    pipeline: true,
    ...(role === undefined ? {} : { options: `-c role=${role}` }),
  });
  // The pool replaces a broken idle connection; without a listener the error event would crash the process.
  pool.on("error", () => undefined);
  return pool;
}

async function runQuery<Row extends object>(
  { pool, shared }: { readonly pool: Pool; readonly shared: SharedConnection },
  statement: Statement,
): Promise<readonly Row[]> {
  try {
    const result = statement.isShort === true ? shared.query<Row>(statement) : pool.query<Row>(statement);
    return (await result).rows;
  } catch (error) {
    throw toOutageFailure(error);
  }
}

type ListenOptions = {
  readonly channel: string;
  readonly onNotification: () => void;
  readonly signal: AbortSignal;
};

async function listen(pool: Pool, { channel, onNotification, signal }: ListenOptions): Promise<void> {
  const client = await pool.connect();
  const { promise: closed, resolve, reject } = Promise.withResolvers<void>();
  // Registered before anything else: an unhandled error event would crash the process.
  client.on("error", reject);
  client.once("end", () => reject(new Error("The listening connection was closed")));
  closed.catch(() => undefined);
  try {
    client.on("notification", onNotification);
    await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
    await closed;
  } finally {
    client.release(true);
  }
}

/** The failures name the host without credentials; unrecognized errors are returned unchanged. */
function toStartFailure(error: unknown, url: string): unknown {
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
