/**
 * @module
 * A real PostgreSQL for tests: a fresh cluster in a temporary folder, one loopback port and no other socket,
 * databases cloned from a template in a fraction of a second, and one server shared by a whole test run.
 * Any number may run side by side. A server leaves no process, port or folder, also when its start fails.
 * Entered through the package's index; `global-setup.ts` is named by the test runner's configuration.
 */
import { createDatabase, databaseUrl, type PostgresAddress, type PostgresDatabase } from "./databases.ts";
import { initializeCluster, superuser } from "./initialize-cluster.ts";
import { findPostgresPrograms } from "./postgres-programs.ts";
import { startServerProcess } from "./server-process.ts";

export type PostgresOptions = {
  /** Survive a crash as a production server does; otherwise speed is all that counts. */
  readonly durable?: boolean;
  /** Further server settings by their names in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
};

export type Postgres = AsyncDisposable & {
  readonly address: PostgresAddress;
  readonly port: number;
  readonly pid: number;
  readonly dataFolder: string;
  url(database: string): string;
  createDatabase(name?: string): Promise<PostgresDatabase>;
  /** Copies a database nobody is connected to, under a name of its own. */
  cloneDatabase(template: string): Promise<PostgresDatabase>;
  stop(): Promise<void>;
  /** Ends it as a power cut would: no farewell, no checkpoint. */
  crash(): Promise<void>;
  /** Starts on the same files and port after `stop` or `crash`. */
  startAgain(): Promise<void>;
};

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const programs = await findPostgresPrograms();
  await using undo = new AsyncDisposableStack();
  const cluster = undo.use(await initializeCluster(programs.initdb));
  const settings = { ...(options.durable === true ? {} : fastSettings), ...options.settings };
  const server = undo.use(await startServerProcess({ program: programs.postgres, cluster, settings }));
  const address = { host: "127.0.0.1", port: server.port, user: superuser, password: cluster.password };
  const owned = undo.move();
  return {
    address,
    port: server.port,
    get pid() {
      return server.pid;
    },
    dataFolder: cluster.dataFolder,
    url: (database) => databaseUrl(address, database),
    createDatabase: (name) => createDatabase(address, name === undefined ? {} : { name }),
    cloneDatabase: (template) => createDatabase(address, { template }),
    stop: () => server.stop(),
    crash: () => server.crash(),
    startAgain: () => server.startAgain(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const fastSettings = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  autovacuum: "off",
  shared_buffers: "32MB",
  max_connections: "200",
};
