import { randomBytes } from "node:crypto";
import { Client, escapeIdentifier } from "pg";

/** Where a server is and how to enter it; plain values, so that it can be handed to another process. */
export type PostgresAddress = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
};

export type PostgresDatabase = AsyncDisposable & { readonly name: string; readonly url: string };

export type NewDatabase = { readonly name?: string; readonly template?: string };

export type MaintenanceConnection = AsyncDisposable & Pick<Client, "query">;

/** Makes a database that is dropped at the end of the scope, whoever is still connected to it. */
export async function createDatabase(
  address: PostgresAddress,
  wanted: NewDatabase = {},
): Promise<PostgresDatabase> {
  const name = wanted.name ?? `test_${randomBytes(8).toString("hex")}`;
  const source = wanted.template === undefined ? "" : ` template ${escapeIdentifier(wanted.template)}`;
  await run(address, `create database ${escapeIdentifier(name)}${source}`);
  return {
    name,
    url: databaseUrl(address, name),
    [Symbol.asyncDispose]: () => dropDatabase(address, name),
  };
}

export function databaseUrl(address: PostgresAddress, database: string): string {
  const { host, port, user, password } = address;
  return `postgresql://${user}:${password}@${host}:${port}/${encodeURIComponent(database)}`;
}

export async function openMaintenanceConnection(address: PostgresAddress): Promise<MaintenanceConnection> {
  const client = new Client({ connectionString: databaseUrl(address, "postgres") });
  // A server that goes away is reported by the next query; without a listener it would end this process.
  client.on("error", () => undefined);
  await client.connect();
  return { query: client.query.bind(client), [Symbol.asyncDispose]: () => client.end() };
}

async function dropDatabase(address: PostgresAddress, name: string): Promise<void> {
  try {
    await run(address, `drop database if exists ${escapeIdentifier(name)} with (force)`);
  } catch (problem) {
    // A test that stopped or crashed its server has nothing left to drop.
    if (!(problem instanceof Error && "code" in problem && problem.code === "ECONNREFUSED")) throw problem;
  }
}

async function run(address: PostgresAddress, sql: string): Promise<void> {
  await using connection = await openMaintenanceConnection(address);
  await connection.query(sql);
}
