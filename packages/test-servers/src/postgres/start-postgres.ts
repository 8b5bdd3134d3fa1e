/**
 * @module
 * A real PostgreSQL for tests: a new cluster in a temporary folder, one loopback port and no other socket, databases
 * cloned from a template in a fraction of a second, and one server shared by a whole test run.
 * Any number can run in parallel. A server leaves no process, port or folder, even when its start fails.
 * Imported through the package's index; the test runner's configuration names `global-setup.ts`.
 */
import { createDatabase, databaseUrl, type PostgresAddress, type PostgresDatabase } from "./databases.ts";
import { initializeCluster, superuser } from "./initialize-cluster.ts";
import { findPostgresPrograms } from "./postgres-programs.ts";
import { startServerProcess } from "./server-process.ts";

export type PostgresOptions = {
  /** Survive a crash like a production server; the default favours speed. */
  readonly durable?: boolean;
  /** Contains its files, instead of the temporary folder. */
  readonly folder?: string | undefined;
  /** Additional server settings, by their names in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
};

export type Postgres = AsyncDisposable & {
  readonly address: PostgresAddress;
  readonly port: number;
  readonly pid: number;
  readonly dataFolder: string;
  url(database: string): string;
  createDatabase(name?: string): Promise<PostgresDatabase>;
  /** Copies a database without connected clients under a new name. */
  cloneDatabase(template: string): Promise<PostgresDatabase>;
  stop(): Promise<void>;
  /** Simulates a power failure: clients are dropped and no checkpoint is written. */
  crash(): Promise<void>;
  /** Starts on the same files and port after `stop` or `crash`. */
  startAgain(): Promise<void>;
};

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const programs = await findPostgresPrograms();
  await using undo = new AsyncDisposableStack();
  const cluster = undo.use(await initializeCluster(programs.initdb, options.folder));
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
  max_wal_size: "128MB",
};
