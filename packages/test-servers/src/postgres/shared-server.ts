import { serveOnLoopback } from "../loopback-server.ts";
import type { PostgresAddress } from "./databases.ts";
import { type Postgres, startPostgres } from "./start-postgres.ts";

/** Answers its address to every process of a test run, and starts PostgreSQL when the first one asks. */
export type SharedPostgres = AsyncDisposable & { readonly askingUrl: string };

export async function sharePostgres(start: () => Promise<Postgres> = startPostgres): Promise<SharedPostgres> {
  let starting: Promise<Postgres> | undefined;
  const desk = await serveOnLoopback(async (_request, response) => {
    starting ??= start();
    const { address } = await starting;
    response.end(JSON.stringify(address));
  });
  return {
    askingUrl: desk.origin,
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      // A start that failed was answered to whoever asked, and has cleaned up after itself.
      const postgres = await starting?.catch(() => undefined);
      await postgres?.[Symbol.asyncDispose]();
    },
  };
}

export async function requestPostgres(askingUrl: string): Promise<PostgresAddress> {
  const answer = await fetch(askingUrl);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`Cannot use the shared PostgreSQL: ${text}`);
  // The other end of this conversation is sharePostgres above.
  return JSON.parse(text) as PostgresAddress;
}
