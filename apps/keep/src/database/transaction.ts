import { FailureError } from "@hearth-and-keep/failures";
import type { Pool, PoolClient } from "pg";
import type { Failure } from "../failures.ts";

/** One statement; a name makes the server keep its plan, which pays for those that every request runs. */
export type Statement = {
  readonly name?: string;
  readonly text: string;
  // The driver takes a list it could change.
  values?: unknown[];
  /** Milliseconds after which the driver gives up on the answer, and on the connection with it. */
  readonly query_timeout?: number;
  /** Always answered within a fraction of a millisecond: it goes over a connection that many share. */
  readonly isShort?: true;
};

export type Transaction = {
  query<Row extends object>(statement: Statement): Promise<readonly Row[]>;
};

/** None sees what belongs to no account, and nothing else. */
type Rights = { readonly accountId: string } | { readonly role: "keep_maintenance" } | "none";

const mostAttempts = 5;
/** A deadlock, or rows that changed under a transaction that wanted them unchanged. */
const worthRetrying = new Set(["40001", "40P01"]);

export async function runTransaction<Result>(
  pool: Pool,
  rights: Rights,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runOnce(pool, rights, work);
    } catch (problem) {
      if (attempt === mostAttempts || !worthRetrying.has(codeOf(problem))) throw nameOutage(problem);
      // Two that met once would meet again if both came back at the same time.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
    }
  }
}

/**
 * The same right of entry without a transaction of its own: the setting ends with the statement. What reads the rows
 * depends on what sets it and is kept from being merged with it, so it cannot come first; if it did, it saw nothing.
 */
export function enterFirst(accountId: string, { text, values = [], ...rest }: Statement): Statement {
  return { ...rest, text: entering(rest.name, text), values: [accountId, ...values] };
}

/** By the statements' names, which stand for one text each: a request need not put the same text together again. */
const enteringTexts = new Map<string, string>();

function entering(name: string | undefined, text: string): string {
  const known = name === undefined ? undefined : enteringTexts.get(name);
  if (known !== undefined) return known;
  const whole = `SELECT answer.* FROM (SELECT set_config('keep.account_id', $1, true) AS account) AS entered CROSS JOIN LATERAL (${text} OFFSET 0) AS answer`;
  if (name !== undefined) enteringTexts.set(name, whole);
  return whole;
}

async function runOnce<Result>(
  pool: Pool,
  rights: Rights,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // The statement under way fails by itself; without a listener the error would end the process as well.
  client.on("error", ignore);
  // A connection is used again unless something went wrong that we did not understand.
  let isSound = false;
  try {
    // Not waited for one by one: they travel with the first statement of the work.
    const begun = begin(client, rights);
    begun.catch(() => undefined);
    const result = await work({
      query: async <Row extends object>(statement: Statement) => (await client.query<Row>(statement)).rows,
    });
    await begun;
    await commit(client);
    isSound = true;
    return result;
  } catch (problem) {
    // On a connection that is gone, waiting for this would only take as long once more.
    isSound = !isGone(problem) && (await rollBack(client));
    throw problem;
  } finally {
    if (isSound) client.off("error", ignore);
    client.release(!isSound);
  }
}

function ignore(): void {}

function isGone(problem: unknown): boolean {
  if (problem instanceof FailureError) {
    // Only failures of ours are thrown as one.
    const { kind } = problem.failure as Failure;
    return kind === "outcome-unknown" || kind === "database-away";
  }
  return nameOutage(problem) !== problem;
}

function rollBack(client: PoolClient): Promise<boolean> {
  return client.query("ROLLBACK").then(
    () => true,
    () => false,
  );
}

async function begin(client: PoolClient, rights: Rights): Promise<void> {
  const begun = client.query("BEGIN");
  if (rights === "none") return void (await begun);
  const entered =
    "accountId" in rights
      ? client.query({
          name: "enter-account",
          text: "SELECT set_config('keep.account_id', $1, true)",
          values: [rights.accountId],
        })
      : client.query(`SET LOCAL ROLE ${rights.role}`);
  await Promise.all([begun, entered]);
}

/** A connection that breaks here leaves open whether the transaction stands; nobody may be told that it does not. */
async function commit(client: PoolClient): Promise<void> {
  try {
    const { command } = await client.query("COMMIT");
    if (command !== "COMMIT") throw new Error("The transaction had failed before its end");
  } catch (problem) {
    if (codeOf(problem).length === 5) throw problem;
    throw new FailureError<Failure>({ kind: "outcome-unknown" }, { cause: problem });
  }
}

/** What the database says when it goes away, and what the driver says when it is gone. */
export function nameOutage(problem: unknown): unknown {
  const code = codeOf(problem);
  const isOutage =
    code.startsWith("08") ||
    code.startsWith("57P") ||
    code.startsWith("53") ||
    ["25006", "ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT"].includes(code) ||
    (problem instanceof Error &&
      /connection (?:terminated|timeout|error)|timeout exceeded|read timeout/iu.test(problem.message));
  return isOutage ? new FailureError<Failure>({ kind: "database-away" }, { cause: problem }) : problem;
}

function codeOf(problem: unknown): string {
  return problem instanceof Error && "code" in problem ? String(problem.code) : "";
}
