import type { Pool, PoolClient, QueryResult } from "pg";
import type { Statement } from "./transaction.ts";

/** Runs short statements of many callers on one connection, in order. */
export type SharedConnection = AsyncDisposable & {
  query<Row extends object>(statement: Statement): Promise<QueryResult<Row>>;
};

/**
 * Statements issued in one turn of the event loop are sent in one packet: under load, waking the database for each costs
 * more than executing it. Only for statements that are always fast, because each waits for those before it. A broken
 * connection is replaced for the next statement.
 */
export function shareConnection(pool: Pool): SharedConnection {
  let connection: Promise<PoolClient> | undefined;
  let isCorked = false;
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
  const corkUntilNextTurn = ({ connection: { stream } }: PoolClient): void => {
    if (isCorked) return;
    isCorked = true;
    stream.cork();
    setImmediate(() => {
      isCorked = false;
      stream.uncork();
    });
  };
  return {
    async query<Row extends object>(statement: Statement) {
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
    },
    async [Symbol.asyncDispose]() {
      const last = connection;
      connection = undefined;
      const client = await last?.catch(() => undefined);
      client?.release(true);
    },
  };
}
