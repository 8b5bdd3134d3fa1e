import type { Pool, PoolClient, QueryResult } from "pg";
import type { Statement } from "./transaction.ts";

/** Short statements of many callers over one connection, in the order they come. */
export type SharedConnection = AsyncDisposable & {
  ask<Row extends object>(statement: Statement): Promise<QueryResult<Row>>;
};

/**
 * What comes in one turn of the event loop is sent in one go: at many requests a second, waking the database for each
 * of them costs more than their statements do. Only for statements that are always short, because each waits for those
 * before it. A connection that breaks is replaced for the next statement.
 */
export function shareConnection(pool: Pool): SharedConnection {
  let lent: Promise<PoolClient> | undefined;
  let isHeld = false;
  const borrow = (): Promise<PoolClient> => {
    const borrowed = pool.connect();
    borrowed.then(
      (client) => client.on("error", () => giveUp(borrowed)),
      () => giveUp(borrowed),
    );
    return borrowed;
  };
  const giveUp = (broken: Promise<PoolClient>): void => {
    if (lent !== broken) return;
    lent = undefined;
    broken.then(
      (client) => client.release(true),
      () => undefined,
    );
  };
  const hold = ({ connection: { stream } }: PoolClient): void => {
    if (isHeld) return;
    isHeld = true;
    stream.cork();
    setImmediate(() => {
      isHeld = false;
      stream.uncork();
    });
  };
  return {
    async ask<Row extends object>(statement: Statement) {
      const mine = (lent ??= borrow());
      const client = await mine;
      hold(client);
      try {
        return await client.query<Row>(statement);
      } catch (problem) {
        // Anything but a word of the database itself leaves open what the connection is good for.
        if (!(problem instanceof Error && "severity" in problem)) giveUp(mine);
        throw problem;
      }
    },
    async [Symbol.asyncDispose]() {
      const last = lent;
      lent = undefined;
      const client = await last?.catch(() => undefined);
      client?.release(true);
    },
  };
}
