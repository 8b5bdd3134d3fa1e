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
  /** PostgreSQL's types of the values. With them, a shared connection runs several such statements as one. */
  readonly valueTypes?: readonly string[];
};

export type Transaction = {
  query<Row extends object>(statement: Statement): Promise<readonly Row[]>;
  /** Sends a statement together with COMMIT, without a round trip of its own; for one whose rows are not needed. */
  queryAtCommit(statement: Statement): void;
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
export function scopeToAccount(
  accountId: string,
  { text, values = [], valueTypes: _valueTypes, ...rest }: Statement,
): Statement {
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

/** Column that tells which of several statements a row belongs to. */
export const positionColumn = "statement_position";

/** As `scopeToAccount`, for statements that differ only in their values. Rows also have the place of their statement. */
export function scopeAllToAccount(accountId: string, statements: readonly Statement[]): Statement {
  const [{ name, text, valueTypes = [] } = { text: "" }] = statements;
  const lists = valueTypes.map((_type, index) => statements.map(({ values }) => values?.[index]));
  return {
    name: `${name}-all`,
    text: scopedTextOfAll(`${name}-all`, text, valueTypes),
    values: [accountId, ...lists],
  };
}

/** The values of each statement are a row of `given`; the inner query runs once for each, by its own indexes. */
function scopedTextOfAll(name: string, text: string, valueTypes: readonly string[]): string {
  const cached = scopedTexts.get(name);
  if (cached !== undefined) return cached;
  const columns = valueTypes.map((_type, index) => `value_${index + 2}`);
  const lists = valueTypes.map((type, index) => `$${index + 2}::${type}[]`);
  const inner = text.replaceAll(/\$(\d+)/gu, "given.value_$1");
  const scoped = `SELECT given.place::integer AS ${positionColumn}, result.* FROM (SELECT set_config('keep.account_id', $1, true) AS account) AS entered CROSS JOIN unnest(${lists.join(", ")}) WITH ORDINALITY AS given (${[...columns, "place"].join(", ")}) CROSS JOIN LATERAL (${inner} OFFSET 0) AS result`;
  scopedTexts.set(name, scoped);
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
    const lastStatements: Statement[] = [];
    const result = await work({
      query: async <Row extends object>(statement: Statement) => {
        corkUntilNextTurn(client);
        return (await client.query<Row>(statement)).rows;
      },
      queryAtCommit: (statement) => void lastStatements.push(statement),
      afterCommit: (callback) => void callbacks.push(callback),
    });
    await started;
    await commit(client, lastStatements);
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
async function commit(client: PoolClient, lastStatements: readonly Statement[]): Promise<void> {
  try {
    const { result, hasWarning } = await runWatched(client, async () => {
      corkUntilNextTurn(client);
      const sent = lastStatements.map((statement) => client.query(statement));
      // After an error of one of them it rolls back.
      const committing = client.query("COMMIT");
      const settled = await Promise.allSettled([...sent, committing]);
      const failed = settled.find(({ status }) => status === "rejected");
      if (failed?.status === "rejected") throw failed.reason;
      return committing;
    });
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

const corked = new WeakSet<PoolClient>();

/** Sends all statements of one turn of the event loop in one packet. */
export function corkUntilNextTurn(client: PoolClient): void {
  if (corked.has(client)) return;
  corked.add(client);
  const { stream } = client.connection;
  stream.cork();
  setImmediate(() => {
    corked.delete(client);
    stream.uncork();
  });
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
