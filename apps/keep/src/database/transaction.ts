import { FailureError } from "@hearth-and-keep/failures";
import type { Pool, PoolClient } from "pg";
import type { Failure } from "../failures.ts";

/** One statement. A named one is prepared once per connection, which pays off for statements on the request path. */
export type Statement = {
  readonly name?: string;
  readonly text: string;
  // Mutable, because the driver's type requires it.
  values?: unknown[];
  /** Milliseconds after which the driver abandons the query and its connection. */
  readonly query_timeout?: number;
  /**
   * The connections for a statement in an account. "shared" only if it always takes a fraction of a millisecond;
   * "system" to authenticate and to read keys; by default those that each account gets a part of.
   */
  readonly connection?: "shared" | "system";
};

export type Transaction = {
  query<Row extends object>(statement: Statement): Promise<readonly Row[]>;
  /** Calls back when the transaction has committed; not if it failed or its outcome is unknown. */
  afterCommit(callback: () => void): void;
};

/** "none" sees only rows that belong to no account. */
type Scope = { readonly accountId: string } | { readonly role: "keep_maintenance" } | "none";

const maxAttempts = 5;
/** Serialization failure and deadlock. */
const retryableCodes = new Set(["40001", "40P01"]);

export async function runTransaction<Result>(
  pool: Pool,
  scope: Scope,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runOnce(pool, scope, work);
    } catch (error) {
      if (attempt === maxAttempts || !retryableCodes.has(codeOf(error))) throw toOutageFailure(error);
      // Random delay, so that the conflicting transactions do not collide again.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
    }
  }
}

/**
 * Scopes a single statement to an account without an explicit transaction. The lateral join makes the query depend on
 * set_config, and OFFSET 0 prevents the planner from merging the two, so the account is set before any row is read. If
 * it were not, row-level security would return no rows.
 */
export function scopeToAccount(accountId: string, { text, values = [], ...rest }: Statement): Statement {
  return { ...rest, text: scopedText(rest.name, text), values: [accountId, ...values] };
}

/** Scoped texts by statement name, so that they are not rebuilt on every request. */
const scopedTexts = new Map<string, string>();

function scopedText(name: string | undefined, text: string): string {
  const cached = name === undefined ? undefined : scopedTexts.get(name);
  if (cached !== undefined) return cached;
  const scoped = `SELECT result.* FROM (SELECT set_config('keep.account_id', $1, true) AS account) AS entered CROSS JOIN LATERAL (${text} OFFSET 0) AS result`;
  if (name !== undefined) scopedTexts.set(name, scoped);
  return scoped;
}

async function runOnce<Result>(
  pool: Pool,
  scope: Scope,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // The connection returns to the pool only after a clean commit or rollback.
  let isReusable = false;
  try {
    // Not awaited here, so that BEGIN is pipelined with the first statement of the work.
    const started = begin(client, scope);
    started.catch(() => undefined);
    const callbacks: (() => void)[] = [];
    const result = await work({
      query: async <Row extends object>(statement: Statement) => (await client.query<Row>(statement)).rows,
      afterCommit: (callback) => void callbacks.push(callback),
    });
    await started;
    await commit(client);
    isReusable = true;
    for (const callback of callbacks) callback();
    return result;
  } catch (error) {
    // On a lost connection, ROLLBACK would only wait for another timeout.
    isReusable = !isConnectionLost(error) && (await rollBack(client));
    throw error;
  } finally {
    client.release(!isReusable);
  }
}

function isConnectionLost(error: unknown): boolean {
  if (error instanceof FailureError) {
    // Keep throws FailureError only with its own failures.
    const { kind } = error.failure as Failure;
    return kind === "outcome-unknown" || kind === "database-away";
  }
  return toOutageFailure(error) !== error;
}

function rollBack(client: PoolClient): Promise<boolean> {
  return client.query("ROLLBACK").then(
    () => true,
    () => false,
  );
}

async function begin(client: PoolClient, scope: Scope): Promise<void> {
  const started = client.query("BEGIN");
  if (scope === "none") return void (await started);
  const entered =
    "accountId" in scope
      ? client.query({
          name: "enter-account",
          text: "SELECT set_config('keep.account_id', $1, true)",
          values: [scope.accountId],
        })
      : client.query(`SET LOCAL ROLE ${scope.role}`);
  await Promise.all([started, entered]);
}

/** If the connection breaks here, the transaction may have committed, so the failure must not claim that it did not. */
async function commit(client: PoolClient): Promise<void> {
  try {
    const { result, hasWarning } = await runWatched(client, () => client.query("COMMIT"));
    if (result.command !== "COMMIT") throw new Error("The transaction was rolled back at COMMIT");
    if (hasWarning) throw new Error("The commit may not have reached the synchronous standby");
  } catch (error) {
    if (codeOf(error).length === 5) throw error;
    throw new FailureError<Failure>({ kind: "outcome-unknown" }, { cause: error });
  }
}

/** Lock timeout. */
const lockTimeoutCode = "55P03";

/**
 * Maps PostgreSQL's shutdown, connection and resource errors and the driver's network errors to "database-away", and a
 * lock that another transaction held for too long to "data-locked".
 */
export function toOutageFailure(error: unknown): unknown {
  const code = codeOf(error);
  if (code === lockTimeoutCode) return new FailureError<Failure>({ kind: "data-locked" }, { cause: error });
  const isOutage =
    code.startsWith("08") ||
    code.startsWith("57P") ||
    code.startsWith("53") ||
    ["25006", "25P03", "ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT"].includes(code) ||
    (error instanceof Error &&
      /connection (?:terminated|timeout|error)|timeout exceeded|read timeout/iu.test(error.message));
  return isOutage ? new FailureError<Failure>({ kind: "database-away" }, { cause: error }) : error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

const warned = new WeakSet<PoolClient>();

/** For `runWatched`. By the code's class, because the severity is translated into the database's language. */
export function watchWarnings(client: PoolClient): void {
  client.on("notice", ({ code }) => {
    if (code?.startsWith("01") === true) warned.add(client);
  });
}

/**
 * Runs a statement that commits, and reports whether the database warned meanwhile. When a wait for a synchronous
 * standby is cancelled, PostgreSQL commits locally, reports success, and says only by a warning that the commit may be
 * lost. The connection must run nothing else at the time.
 */
export async function runWatched<Result>(
  client: PoolClient,
  run: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly hasWarning: boolean }> {
  warned.delete(client);
  const result = await run();
  return { result, hasWarning: warned.has(client) };
}
