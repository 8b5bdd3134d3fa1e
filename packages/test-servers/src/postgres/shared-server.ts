import { memoryFolder } from "../config.ts";
import { serveOnLoopback } from "../loopback-server.ts";
import type { PostgresAddress } from "./databases.ts";
import { type Postgres, startPostgres } from "./start-postgres.ts";

/** Serves the address of PostgreSQL to every process of a test run, and starts it on the first request. */
export type SharedPostgres = AsyncDisposable & { readonly discoveryUrl: string };

export async function sharePostgres(
  start: () => Promise<Postgres> = () => startPostgres({ folder: memoryFolder }),
): Promise<SharedPostgres> {
  let starting: Promise<Postgres> | undefined;
  const server = await serveOnLoopback(async (_request, response) => {
    starting ??= start();
    const { address } = await starting;
    response.end(JSON.stringify(address));
  });
  return {
    discoveryUrl: server.origin,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      // A failed start was reported in the response and has cleaned up after itself.
      const postgres = await starting?.catch(() => undefined);
      await postgres?.[Symbol.asyncDispose]();
    },
  };
}

export async function requestPostgres(discoveryUrl: string): Promise<PostgresAddress> {
  const response = await fetch(discoveryUrl);
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot use the shared PostgreSQL: ${text}`);
  // Written by sharePostgres above.
  return JSON.parse(text) as PostgresAddress;
}
