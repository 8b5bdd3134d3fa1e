import { createHash } from "node:crypto";
import {
  createDatabase,
  databaseUrl,
  type MaintenanceConnection,
  openMaintenanceConnection,
  type PostgresAddress,
  type PostgresDatabase,
} from "./databases.ts";

export type DatabaseTemplate = {
  /** Templates with the same name are the same template: only one `prepare` runs. */
  readonly name: string;
  /** Fills an empty database, and closes its connections before it resolves. */
  prepare(url: string): Promise<void>;
};

/** A new database, copied from a template that the first caller in any process creates. */
export async function cloneFromTemplate(
  address: PostgresAddress,
  template: DatabaseTemplate,
): Promise<PostgresDatabase> {
  return createDatabase(address, { template: await ensureTemplate(address, template) });
}

async function ensureTemplate(address: PostgresAddress, template: DatabaseTemplate): Promise<string> {
  const finished = `template_${createHash("sha256").update(template.name).digest("hex").slice(0, 32)}`;
  await using connection = await openMaintenanceConnection(address);
  if (await exists(connection, finished)) return finished;
  // The lock belongs to this session, so it is released with the connection even when this process is killed.
  await connection.query("select pg_advisory_lock(hashtextextended($1, 0))", [finished]);
  if (!(await exists(connection, finished)))
    await createTemplate(connection, { address, template, finished });
  return finished;
}

async function exists(connection: MaintenanceConnection, database: string): Promise<boolean> {
  const found = await connection.query("select 1 from pg_database where datname = $1", [database]);
  return found.rowCount === 1;
}

type TemplatePlan = {
  readonly address: PostgresAddress;
  readonly template: DatabaseTemplate;
  readonly finished: string;
};

// Renamed last, so that an existing template is always complete, even if its creator was killed.
async function createTemplate(connection: MaintenanceConnection, plan: TemplatePlan): Promise<void> {
  const unfinished = `${plan.finished}_unfinished`;
  await connection.query(`drop database if exists ${unfinished} with (force)`);
  await connection.query(`create database ${unfinished}`);
  try {
    await plan.template.prepare(databaseUrl(plan.address, unfinished));
    await connection.query(`alter database ${unfinished} with allow_connections false`);
    await connection.query(`alter database ${unfinished} rename to ${plan.finished}`);
  } catch (cause) {
    await connection.query(`drop database if exists ${unfinished} with (force)`);
    throw new Error(`Cannot create the database template "${plan.template.name}"`, { cause });
  }
}
