import type { Pool, PoolClient, QueryResult } from "pg";
import {
  corkUntilNextTurn,
  positionColumn,
  type Statement,
  scopeAllToAccount,
  scopeToAccount,
} from "./transaction.ts";

/** Runs short statements of many callers on one connection, in order. */
export type SharedConnection = AsyncDisposable & {
  query<Row extends object>(statement: Statement): Promise<QueryResult<Row>>;
  /** In one account, as `Database.queryInAccount`. */
  queryInAccount<Row extends object>(accountId: string, statement: Statement): Promise<readonly Row[]>;
};

/**
 * Statements issued in one turn of the event loop are sent in one packet: under load, waking the database for each costs
 * more than executing it. Those of one account that differ only in their values are sent as one statement. Only for
 * statements that are always fast, because each waits for those before it. A broken connection is replaced for the next
 * statement.
 */
export function shareConnection(pool: Pool): SharedConnection {
  let connection: Promise<PoolClient> | undefined;
  const connect = (): Promise<PoolClient> => {
    const connecting = pool.connect();
    connecting.then(
      (client) => client.on("error", () => discard(connecting)),
      () => discard(connecting),
    );
    return connecting;
  };
  const discard = (broken: Promise<PoolClient>): void => {
    if (connection !== broken) return;
    connection = undefined;
    broken.then(
      (client) => client.release(true),
      () => undefined,
    );
  };
  const query = async <Row extends object>(statement: Statement): Promise<QueryResult<Row>> => {
    const current = (connection ??= connect());
    const client = await current;
    corkUntilNextTurn(client);
    try {
      return await client.query<Row>(statement);
    } catch (error) {
      // Only errors reported by PostgreSQL itself leave the connection usable.
      if (!(error instanceof Error && "severity" in error)) discard(current);
      throw error;
    }
  };
  return {
    query,
    queryInAccount: combineStatements(query),
    async [Symbol.asyncDispose]() {
      const last = connection;
      connection = undefined;
      const client = await last?.catch(() => undefined);
      client?.release(true);
    },
  };
}

type RunStatement = <Row extends object>(statement: Statement) => Promise<QueryResult<Row>>;

type WaitingStatement = {
  readonly statement: Statement;
  readonly resolve: (rows: readonly object[]) => void;
  readonly reject: (error: unknown) => void;
};

const maxCombined = 64;

/** Collects the statements of one turn by account and name, and runs each group as one. */
function combineStatements(run: RunStatement): SharedConnection["queryInAccount"] {
  const groups = new Map<string, WaitingStatement[]>();
  const runGroup = async (accountId: string, group: readonly WaitingStatement[]): Promise<void> => {
    try {
      const { rows } = await run<Record<typeof positionColumn, number>>(
        scopeAllToAccount(
          accountId,
          group.map(({ statement }) => statement),
        ),
      );
      const byPlace = Map.groupBy(rows, (row) => row[positionColumn]);
      for (const [index, { resolve }] of group.entries()) resolve(byPlace.get(index + 1) ?? []);
    } catch {
      // One of them may be at fault, which must not fail the others.
      for (const waiting of group) runAlone(accountId, waiting);
    }
  };
  const runAlone = (accountId: string, { statement, resolve, reject }: WaitingStatement): void => {
    run(scopeToAccount(accountId, statement)).then(({ rows }) => resolve(rows), reject);
  };
  return <Row extends object>(accountId: string, statement: Statement): Promise<readonly Row[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Row[]>();
    // The rows of a statement have the type that its caller says.
    const waiting = { statement, resolve: resolve as WaitingStatement["resolve"], reject };
    const key = `${accountId} ${statement.name}`;
    const group = groups.get(key);
    if (statement.valueTypes === undefined) runAlone(accountId, waiting);
    else if (group !== undefined && group.length < maxCombined) group.push(waiting);
    else {
      const begun = [waiting];
      groups.set(key, begun);
      setImmediate(() => {
        if (groups.get(key) === begun) groups.delete(key);
        if (begun.length === 1) runAlone(accountId, waiting);
        else void runGroup(accountId, begun);
      });
    }
    return promise;
  };
}
