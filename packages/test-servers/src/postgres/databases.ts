import { randomBytes } from "node:crypto";
import { Client, escapeIdentifier } from "pg";

/** A server's address and credentials, as plain values that can be passed to another process. */
export type PostgresAddress = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
};

export type PostgresDatabase = AsyncDisposable & { readonly name: string; readonly url: string };

export type NewDatabase = { readonly name?: string; readonly template?: string };

export type MaintenanceConnection = AsyncDisposable & Pick<Client, "query">;

/** Creates a database that is dropped when the scope ends, even if clients are still connected. */
export async function createDatabase(
  address: PostgresAddress,
  options: NewDatabase = {},
): Promise<PostgresDatabase> {
  const name = options.name ?? `test_${randomBytes(8).toString("hex")}`;
  const source = options.template === undefined ? "" : ` template ${escapeIdentifier(options.template)}`;
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
  // The next query reports a lost server; without a listener the error event would crash this process.
  client.on("error", () => undefined);
  await client.connect();
  return { query: client.query.bind(client), [Symbol.asyncDispose]: () => client.end() };
}

async function dropDatabase(address: PostgresAddress, name: string): Promise<void> {
  try {
    await run(address, `drop database if exists ${escapeIdentifier(name)} with (force)`);
  } catch (error) {
    // A test that stopped or crashed its server has nothing to drop.
    if (!(error instanceof Error && "code" in error && error.code === "ECONNREFUSED")) throw error;
  }
}

async function run(address: PostgresAddress, sql: string): Promise<void> {
  await using connection = await openMaintenanceConnection(address);
  await connection.query(sql);
}
