import { Pool } from "pg";
import { watchWarnings } from "./transaction.ts";

export type PoolOptions = {
  readonly max: number;
  /** Requests run under a role and with limits of time; migrations run without either. */
  readonly role?: string;
  readonly isReadOnly?: boolean;
};

const connectSeconds = 5;
const statementSeconds = 30;
const responseSeconds = 25;
/** How long a statement waits for another transaction's lock. */
const lockSeconds = 5;
/** A transaction that stays silent longer, for example on a node that hangs, is ended by the database. */
const idleTransactionSeconds = 10;
const keepAliveSeconds = 10;

/** A peer that vanished without closing its connection is noticed by either side within about 25 seconds. */
const serverKeepAlive =
  "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=25000";

/** Whatever is set for the login: a value may leave only after its audit record is on disk. */
const durableCommits = "-c synchronous_commit=on";

const readOnly = "-c default_transaction_read_only=on";

export function openPool(url: string, { max, role, isReadOnly = false }: PoolOptions): Pool {
  const pool = new Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: connectSeconds * 1000,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveSeconds * 1000,
    application_name: "keep",
    // Sends a query without waiting for the result of the previous one.
    pipeline: true,
    ...(role === undefined
      ? {}
      : {
          options: `-c role=${role} ${isReadOnly ? readOnly : durableCommits} ${serverKeepAlive}`,
          statement_timeout: statementSeconds * 1000,
          // Client-side timeout, for a database that no longer responds at all.
          query_timeout: responseSeconds * 1000,
          lock_timeout: lockSeconds * 1000,
          idle_in_transaction_session_timeout: idleTransactionSeconds * 1000,
        }),
  });
  // The pool replaces a broken idle connection; without a listener the error event would crash the process.
  pool.on("error", ignore);
  pool.on("connect", (client) => {
    // The same for a connection that breaks while it is in use but no statement runs. A running one rejects anyway.
    client.on("error", ignore);
    watchWarnings(client);
  });
  return pool;
}

function ignore(): void {}
