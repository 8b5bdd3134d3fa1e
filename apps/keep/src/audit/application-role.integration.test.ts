import { recordFigure } from "@hearth-and-keep/figures";
import { Client } from "pg";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import { startTestKeep } from "../test/start-test-keep.ts";

const auditTables = [
  "audit_record",
  "audit_log",
  "audit_batch",
  "audit_tile",
  "audit_stream",
  "audit_event",
] as const;
/** What stays as it is while nothing is recorded. */
const snapshotOf = {
  audit_record: "*",
  audit_log: "id, origin, size, edge, note",
  audit_batch: "*",
  audit_tile: "*",
  audit_stream: "*",
  audit_event: "*",
} as const;

/** Statements that would change, erase or hide an audit record, a leaf or a checkpoint. */
function attemptsOn(table: string): readonly string[] {
  const column = changedColumns[table] ?? "log_id";
  return [
    `UPDATE ${table} SET ${column} = ${column}`,
    `DELETE FROM ${table}`,
    `TRUNCATE ${table}`,
    `TRUNCATE ${table} CASCADE`,
    `DROP TABLE ${table} CASCADE`,
    `ALTER TABLE ${table} RENAME TO elsewhere`,
    `ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`,
    `ALTER TABLE ${table} OWNER TO CURRENT_USER`,
    `CREATE RULE hide AS ON INSERT TO ${table} DO INSTEAD NOTHING`,
    `CREATE TRIGGER hide BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
    `CREATE POLICY hide ON ${table} AS RESTRICTIVE USING (false)`,
    `SELECT * FROM ${table} FOR UPDATE`,
    `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`,
    `GRANT ALL ON ${table} TO CURRENT_USER`,
    `COMMENT ON TABLE ${table} IS 'empty'`,
    `VACUUM FULL ${table}`,
    `CLUSTER ${table} USING ${table}_pkey`,
    `ALTER TABLE ${table} SET SCHEMA pg_temp`,
    `CREATE TABLE child () INHERITS (${table})`,
  ];
}

const changedColumns: Readonly<Record<string, string>> = {
  audit_log: "note",
  audit_stream: "records",
  audit_event: "body",
  audit_chain: "hash",
  audit_checkpoint: "hash",
};

const otherAttempts: readonly string[] = [
  "UPDATE audit_record SET body = NULL",
  "UPDATE audit_record SET mac = mac",
  "DELETE FROM audit_record WHERE outcome = 'read'",
  "INSERT INTO audit_record SELECT * FROM audit_record ON CONFLICT (stream_id, number, log_id) DO UPDATE SET body = NULL",
  "MERGE INTO audit_record AS old USING audit_record AS new ON old.number = new.number WHEN MATCHED THEN DELETE",
  "INSERT INTO audit_batch SELECT * FROM audit_batch",
  "INSERT INTO audit_tile SELECT * FROM audit_tile",
  "INSERT INTO audit_log (id, origin, is_held, epoch) VALUES (99, 'x', true, 1)",
  "WITH gone AS (DELETE FROM audit_record RETURNING *) SELECT count(*) FROM gone",
  "COPY audit_record FROM PROGRAM 'true'",
  "COPY audit_batch FROM STDIN",
  "SET session_replication_role = replica",
  "SET row_security = off; SELECT * FROM audit_record",
  "ALTER SYSTEM SET fsync = off",
  "SET ROLE pg_write_all_data; DELETE FROM audit_record",
  "SET SESSION AUTHORIZATION postgres; DELETE FROM audit_record",
  "DO $$ BEGIN EXECUTE 'DELETE FROM audit_record'; END $$",
  "CREATE OR REPLACE FUNCTION append_audit_leaves(log integer, of_epoch integer, checkpoint jsonb, leaves jsonb) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
  "DROP FUNCTION append_audit_leaves",
  "ALTER FUNCTION append_audit_leaves SECURITY INVOKER",
  "CREATE OR REPLACE VIEW audit_record_hash AS SELECT 1",
  "DROP VIEW audit_record_hash CASCADE",
  "SELECT erase_audit_bodies()",
  "UPDATE audit_adoption SET adopted_until = 9e15::bigint",
  "SELECT lo_import('/etc/passwd')",
];

test("the application's own database role cannot change or erase an audit record, by any statement", {
  timeout: 120_000,
}, async () => {
  await using first = await startTestKeep();
  const login = `keep_login_${generateId().replaceAll("-", "")}`;
  await asSuperuser(first.databaseUrl, async (superuser) => {
    await superuser.query(`CREATE ROLE ${login} LOGIN PASSWORD 'application' NOSUPERUSER`);
    await superuser.query(`GRANT keep_application, keep_maintenance TO ${login}`);
  });
  const url = new URL(first.databaseUrl);
  url.username = login;
  url.password = "application";
  try {
    // The server works with this login; only migrations, and the erasure of deleted accounts, use the other one.
    await using keep = await startUnlimitedKeep({
      databaseUrl: url.href,
      key: first.key,
      settings: { migrationDatabaseUrl: first.databaseUrl },
    });
    const vault = await openVault(keep);
    await vault.write("/KEY", "value");
    expect((await vault.json("GET", "/values/by-path/KEY"))[1]).toMatchObject({ value: "value" });
    await vault.json("GET", "/audit/export").catch(() => undefined);
    const before = await readSnapshot(first.databaseUrl);
    const tried = await attemptAll(url.href, vault.person.accountId);
    expect(tried.succeeded).toEqual([]);
    const after = await readSnapshot(first.databaseUrl);
    for (const table of auditTables) expect(after[table]).toEqual(expect.arrayContaining([...before[table]]));
    expect(before.audit_record.length).toBeGreaterThan(0);
    expect(before.audit_batch.length).toBeGreaterThan(0);
    // Records are still added.
    await vault.write("/KEY", "newer");
    expect((await vault.json("GET", "/values/by-path/KEY"))[1]).toMatchObject({ value: "newer" });
    recordFigure({
      claim: "seal 2",
      text: `${tried.count} of ${tried.count} statements of the application's own login to change, erase or hide audit records, as keep_application, keep_maintenance and itself, were refused: ${tried.kinds.join(", ")}; ${before.audit_record.length} records, ${before.audit_batch.length} batches and their checkpoints unchanged`,
      counted: { reached: tried.count, needed: 300 },
    });
  } finally {
    await asSuperuser(first.databaseUrl, async (superuser) => {
      await superuser.query(`DROP OWNED BY ${login}`);
      await superuser.query(`DROP ROLE ${login}`);
    });
  }
});

/** Tries everything in each role that the login can take. */
async function attemptAll(url: string, accountId: string) {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      "SELECT relname AS name FROM pg_class WHERE relname LIKE 'audit_record_20%' AND relkind = 'r'",
    );
    const tables = [...auditTables, "audit_chain", "audit_checkpoint", ...rows.map(({ name }) => name)];
    const statements = [...tables.flatMap(attemptsOn), ...otherAttempts];
    const succeeded: string[] = [];
    let count = 0;
    for (const role of ["keep_application", "keep_maintenance", "NONE"]) {
      for (const sql of statements) {
        count += 1;
        if (await isAccepted(client, { role, accountId, sql })) succeeded.push(`${role}: ${sql}`);
      }
    }
    const kinds = [...new Set(statements.map((sql) => sql.split(" ")[0] ?? ""))];
    return { count, succeeded, kinds };
  } finally {
    await client.end();
  }
}

type RoleAttempt = { readonly role: string; readonly accountId: string; readonly sql: string };

/** Whether the statement was accepted and changed or locked something. */
async function isAccepted(client: Client, { role, accountId, sql }: RoleAttempt): Promise<boolean> {
  await client.query(`SET ROLE ${role}`);
  await client.query("SELECT set_config('keep.account_id', $1, false)", [accountId]);
  // VACUUM and GRANT skip what is not permitted, with a warning.
  let isSkipped = false;
  client.once("notice", () => (isSkipped = true));
  try {
    await client.query(sql);
    return !isSkipped;
  } catch {
    return false;
  } finally {
    await client.query("ROLLBACK").catch(() => undefined);
    await client.query("RESET ALL");
    client.removeAllListeners("notice");
  }
}

/** Every row as text. */
async function readSnapshot(url: string): Promise<Record<(typeof auditTables)[number], readonly string[]>> {
  return asSuperuser(url, async (superuser) => {
    const read = async (table: (typeof auditTables)[number]) => {
      const { rows } = await superuser.query<{ text: string }>(
        `SELECT kept::text AS text FROM (SELECT ${snapshotOf[table]} FROM ${table}) AS kept ORDER BY 1`,
      );
      return rows.map(({ text }) => text);
    };
    return {
      audit_record: await read("audit_record"),
      audit_log: await read("audit_log"),
      audit_batch: await read("audit_batch"),
      audit_tile: await read("audit_tile"),
      audit_stream: await read("audit_stream"),
      audit_event: await read("audit_event"),
    };
  });
}
