/**
 * @module
 * Access to PostgreSQL: connection pools, migrations as numbered SQL files, transactions scoped to one account, and the
 * mapping of connection errors. Guarantees that an opened database has exactly the schema of this version, that requests
 * run under a role that sees one account at a time, and that no account can hold the connections that others need.
 * Imported by `queries.ts` files, and by `commands/` to open it; other code imports only its types.
 */
import { FailureError } from "@hearth-and-keep/failures";
import type { Pool } from "pg";
import { type Failure, requestFailure } from "../failures.ts";
import type { AppliedMigrations } from "./apply-migrations.ts";
import { checkMigrated, migrate, toStartFailure } from "./migrate.ts";
import { openPool } from "./open-pool.ts";
import { type SharedConnection, shareConnection } from "./shared-connection.ts";
import {
  runTransaction,
  runWatched,
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
  /** One statement that inserts this many audit records, of any accounts; throws unless they are durable. */
  append(statement: Statement, records: number): Promise<void>;
  /** A transaction with the rights of the schema's owner, for what no request may do; over a connection of its own. */
  asOwner<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** The current state of the connection pools together. */
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
  /** Neither migrates nor writes: PostgreSQL refuses every change. */
  readonly isReadOnly?: boolean;
};

/**
 * Connections by what they serve, so that none waits for another: `system` authenticates requests, reads keys and reports
 * the node's state; `audit` appends records of reads; `shared` runs short reads of all accounts; `work` runs the rest,
 * of which one account gets a part.
 */
const poolSizes = { system: 5, audit: 4, shared: 1, work: 9 } as const;
const workLimits = { maxConcurrent: 3, maxWaiting: 256, maxWaitMilliseconds: 10_000 };

type Pools = Readonly<Record<keyof typeof poolSizes, Pool>>;

export async function openDatabase(addresses: DatabaseAddresses): Promise<Database> {
  const { url, migrationUrl = url, isReadOnly = false } = addresses;
  const migrations = isReadOnly ? await checkMigrated(url) : await migrate(migrationUrl);
  const pools = openPools(url, isReadOnly);
  try {
    await pools.system.query("SELECT 1");
  } catch (error) {
    await endPools(pools);
    throw toStartFailure(error, url);
  }
  const shared = shareConnection(pools.shared);
  const limiter = createAccountLimiter(workLimits);
  return {
    migrations,
    query: <Row extends object>(statement: Statement) => runQuery<Row>(pools.system, statement),
    inTransaction: (work) => runTransaction(pools.system, "none", work),
    queryInAccount: <Row extends object>(accountId: string, statement: Statement) =>
      runInAccount<Row>({ pools, shared, limiter }, accountId, statement),
    inAccount: (accountId, work) =>
      limiter.run(accountId, () => runTransaction(pools.work, { accountId }, work)),
    acrossAccounts: (work) => runTransaction(pools.system, { role: "keep_maintenance" }, work),
    listen: (channel, onNotification, signal) => listen(pools.system, { channel, onNotification, signal }),
    append: (statement, records) => appendDurably(pools.audit, statement, records),
    asOwner: (work) => runAsOwner(migrationUrl, work),
    connections: () => countConnections(Object.values(pools)),
    async [Symbol.asyncDispose]() {
      await shared[Symbol.asyncDispose]();
      await endPools(pools);
    },
  };
}

function openPools(url: string, isReadOnly: boolean): Pools {
  const open = (max: number) => openPool(url, { max, role: "keep_application", isReadOnly });
  return {
    system: open(poolSizes.system),
    audit: open(poolSizes.audit),
    shared: open(poolSizes.shared),
    work: open(poolSizes.work),
  };
}

async function endPools(pools: Pools): Promise<void> {
  await Promise.all(Object.values(pools).map((pool) => pool.end()));
}

function countConnections(pools: readonly Pool[]): ConnectionCounts {
  const sum = (count: (pool: Pool) => number) => pools.reduce((total, pool) => total + count(pool), 0);
  return {
    inUse: sum((pool) => pool.totalCount - pool.idleCount),
    idle: sum((pool) => pool.idleCount),
    waiting: sum((pool) => pool.waitingCount),
  };
}

type AccountConnections = {
  readonly pools: Pools;
  readonly shared: SharedConnection;
  readonly limiter: AccountLimiter;
};

function runInAccount<Row extends object>(
  { pools, shared, limiter }: AccountConnections,
  accountId: string,
  statement: Statement,
): Promise<readonly Row[]> {
  if (statement.connection === "shared") return runShared<Row>(shared, accountId, statement);
  const scoped = scopeToAccount(accountId, statement);
  if (statement.connection === "system") return runQuery<Row>(pools.system, scoped);
  return limiter.run(accountId, () => runQuery<Row>(pools.work, scoped));
}

async function runShared<Row extends object>(
  shared: SharedConnection,
  accountId: string,
  statement: Statement,
): Promise<readonly Row[]> {
  try {
    return await shared.queryInAccount<Row>(accountId, statement);
  } catch (error) {
    throw toOutageFailure(error);
  }
}

async function runQuery<Row extends object>(
  connection: { query<Each extends object>(statement: Statement): Promise<{ rows: Each[] }> },
  statement: Statement,
): Promise<readonly Row[]> {
  try {
    return (await connection.query<Row>(statement)).rows;
  } catch (error) {
    throw toOutageFailure(error);
  }
}

async function appendDurably(pool: Pool, statement: Statement, records: number): Promise<void> {
  try {
    const client = await pool.connect();
    let isReusable = false;
    try {
      const { result, hasWarning } = await runWatched(client, () => client.query(statement));
      isReusable = true;
      if (result.rowCount !== records) throw new Error("Not all audit records were inserted");
      if (hasWarning) throw new FailureError<Failure>({ kind: "database-away" });
    } finally {
      client.release(!isReusable);
    }
  } catch (error) {
    throw toOutageFailure(error);
  }
}

async function runAsOwner<Result>(
  url: string,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const pool = openPool(url, { max: 1 });
  try {
    return await runTransaction(pool, "none", work);
  } finally {
    await pool.end();
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

/** Runs work of many accounts so that no account holds more than its share of the connections. */
export type AccountLimiter = {
  /** Waits for the account's turn; throws "account-busy" when too many already wait, or the wait takes too long. */
  run<Result>(accountId: string, work: () => Promise<Result>): Promise<Result>;
};

export type AccountLimits = {
  /** Connections that one account may hold at a time. */
  readonly maxConcurrent: number;
  /** Requests of one account that may wait for them. */
  readonly maxWaiting: number;
  readonly maxWaitMilliseconds: number;
};

type Turns = { running: number; readonly waiting: Set<() => void> };

export function createAccountLimiter({
  maxConcurrent,
  maxWaiting,
  maxWaitMilliseconds,
}: AccountLimits): AccountLimiter {
  const accounts = new Map<string, Turns>();
  const takeTurn = (accountId: string): Promise<void> | undefined => {
    const turns = accounts.get(accountId) ?? { running: 0, waiting: new Set() };
    if (turns.running === 0) accounts.set(accountId, turns);
    if (turns.running < maxConcurrent) {
      turns.running += 1;
      return undefined;
    }
    if (turns.waiting.size >= maxWaiting) throw requestFailure({ kind: "account-busy" });
    return waitForTurn(turns.waiting, maxWaitMilliseconds);
  };
  /** Hands the turn to the one that has waited longest, without a moment in which another could take it. */
  const endTurn = (accountId: string): void => {
    const turns = accounts.get(accountId);
    if (turns === undefined) return;
    const [next] = turns.waiting;
    if (next !== undefined) {
      next();
      return;
    }
    turns.running -= 1;
    if (turns.running === 0) accounts.delete(accountId);
  };
  return {
    async run(accountId, work) {
      await takeTurn(accountId);
      try {
        return await work();
      } finally {
        endTurn(accountId);
      }
    },
  };
}

function waitForTurn(waiting: Set<() => void>, milliseconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = (): void => {
      clearTimeout(timer);
      waiting.delete(begin);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(begin);
      reject(requestFailure({ kind: "account-busy" }));
    }, milliseconds);
    waiting.add(begin);
  });
}
