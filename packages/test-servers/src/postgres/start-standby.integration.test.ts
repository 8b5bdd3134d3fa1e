import { Client } from "pg";
import { expect, test } from "vitest";
import { startPostgres } from "./start-postgres.ts";
import { startStandby } from "./start-standby.ts";

test("a standby that the primary lists is synchronous, and confirms commits; another one is not", async () => {
  await using postgres = await startPostgres();
  const client = new Client(postgres.url("postgres"));
  await client.connect();
  try {
    await using listed = await startStandby(postgres, "listed");
    await using other = await startStandby(postgres, "other");
    expect(listed.pid).not.toBe(other.pid);
    await client.query("ALTER SYSTEM SET synchronous_standby_names = 'listed'");
    await client.query("SELECT pg_reload_conf()");
    const states = "SELECT application_name, sync_state FROM pg_stat_replication ORDER BY 1";
    await expect
      .poll(async () => (await client.query(states)).rows)
      .toEqual([
        { application_name: "listed", sync_state: "sync" },
        { application_name: "other", sync_state: "async" },
      ]);
    await client.query("CREATE TABLE confirmed (number integer)");
    // Without a standby, the end of this session would wait for one.
    await client.query("ALTER SYSTEM RESET synchronous_standby_names");
    await client.query("SELECT pg_reload_conf()");
  } finally {
    await client.end();
  }
});
