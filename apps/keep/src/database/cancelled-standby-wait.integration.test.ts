import { startPostgres } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";

/** Cancels the first statement that waits for a standby, as an administrator would to unblock a database. */
async function cancelStandbyWait(superuser: Client): Promise<void> {
  const cancel = () =>
    superuser.query(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()",
    );
  await expect.poll(async () => (await cancel()).rowCount ?? 0, { timeout: 10_000 }).toBeGreaterThan(0);
}

/** Waits until the setting applies to every connection. */
async function setStandbys(superuser: Client, names: string): Promise<void> {
  await superuser.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await superuser.query("SELECT pg_reload_conf()");
  await expect
    .poll(async () => (await superuser.query("SHOW synchronous_standby_names")).rows)
    .toEqual([{ synchronous_standby_names: names }]);
}

test("neither a write nor a value is confirmed when the wait for a synchronous standby was cancelled", async () => {
  await using postgres = await startPostgres();
  await using database = await postgres.createDatabase();
  await using keep = await startUnlimitedKeep({ databaseUrl: database.url });
  await using vault = await openVault(keep);
  await using cleanup = new AsyncDisposableStack();
  const superuser = cleanup.adopt(new Client(database.url), (client) => client.end());
  await superuser.connect();
  await vault.write("/KEY", "replicated");
  const write = () => vault.json("PUT", "/secrets/by-path/OTHER", { value: "x" });
  const read = () => vault.json("GET", "/values/by-path/KEY");
  expect([(await write())[0], (await read())[0]]).toEqual([201, 200]);

  await setStandbys(superuser, "absent");
  for (const send of [write, read]) {
    const answer = send();
    await cancelStandbyWait(superuser);
    const [status, body] = await answer;
    expect([status, body.code]).toEqual([503, "unavailable"]);
    expect(body.value).toBeUndefined();
  }

  await setStandbys(superuser, "");
  expect([(await write())[0], (await read())[0]]).toEqual([200, 200]);
});
