import { recordFigure } from "@hearth-and-keep/figures";
import { startPostgres, startStandby } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { type OpenedVault, openVault, type ResponseBody, startUnlimitedKeep } from "../test/open-vault.ts";

type Send = () => Promise<[status: number, body: ResponseBody]>;

/** A write and a read of a value in this vault. */
function requestsOf(vault: OpenedVault): { readonly write: Send; readonly read: Send } {
  return {
    write: () => vault.json("PUT", "/secrets/by-path/OTHER", { value: "x" }),
    read: () => vault.json("GET", "/values/by-path/KEY"),
  };
}

async function startFixture() {
  await using undo = new AsyncDisposableStack();
  const postgres = undo.use(await startPostgres());
  const database = undo.use(await postgres.createDatabase());
  const keep = undo.use(await startUnlimitedKeep({ databaseUrl: database.url }));
  const superuser = undo.adopt(new Client(database.url), (client) => client.end());
  await superuser.connect();
  const owned = undo.move();
  return {
    postgres,
    superuser,
    /** With a secret at /KEY. */
    addVault: async () => {
      const vault = await openVault(keep);
      await vault.write("/KEY", "replicated");
      return vault;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

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

function expectUnavailable([status, body]: Awaited<ReturnType<Send>>): void {
  expect([status, body.code]).toEqual([503, "unavailable"]);
  expect(body.value).toBeUndefined();
}

test("neither a write nor a value is confirmed when the wait for a synchronous standby was cancelled", async () => {
  await using fixture = await startFixture();
  const { superuser } = fixture;
  const { write, read } = requestsOf(await fixture.addVault());
  expect([(await write())[0], (await read())[0]]).toEqual([201, 200]);

  await setStandbys(superuser, "absent");
  const requests = [write, read];
  for (const send of requests) {
    const response = send();
    await cancelStandbyWait(superuser);
    expectUnavailable(await response);
  }

  await setStandbys(superuser, "");
  expect([(await write())[0], (await read())[0]]).toEqual([200, 200]);
  recordFigure({
    claim: "seal 4",
    text: `cancelled wait for a standby: ${requests.length} of ${requests.length} requests, a write and a read, got 503 and no value`,
  });
});

test("a write and a value are confirmed while a standby responds, not while it is lost, and again when it is back", {
  timeout: 180_000,
}, async () => {
  await using fixture = await startFixture();
  const { postgres, superuser } = fixture;
  // Two vaults, because a write that waits for its commit locks its own.
  const { write } = requestsOf(await fixture.addVault());
  const { read } = requestsOf(await fixture.addVault());
  await using standby = await startStandby(postgres, "standby");
  await setStandbys(superuser, "standby");
  await expect
    .poll(async () => (await superuser.query("SELECT sync_state FROM pg_stat_replication")).rows)
    .toEqual([{ sync_state: "sync" }]);
  expect([(await write())[0], (await read())[0]]).toEqual([201, 200]);

  process.kill(standby.pid, "SIGSTOP");
  const responses = await Promise.all([write(), read()]);
  process.kill(standby.pid, "SIGCONT");
  for (const response of responses) expectUnavailable(response);

  const statuses = async () => [(await write())[0], (await read())[0]];
  await expect.poll(statuses, { timeout: 60_000 }).toEqual([200, 200]);
  // What Keep stores when it stops need not wait for a standby that has stopped.
  await setStandbys(superuser, "");
  recordFigure({
    claim: "seal 4",
    text: `lost standby: ${responses.length} of ${responses.length} requests got 503 and no value, and succeed with one that responds`,
  });
});
