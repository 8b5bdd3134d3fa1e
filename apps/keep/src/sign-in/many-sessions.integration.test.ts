import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeSessions } from "../test/change-sessions.ts";
import { createFakeBrowser } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";

let fixture: KeepWithProviders;
let superuser: Client;

beforeAll(async () => {
  fixture = await startKeepWithProviders();
  superuser = new Client(fixture.keep.databaseUrl);
  await superuser.connect();
});
afterAll(async () => {
  await superuser.end();
  await fixture[Symbol.asyncDispose]();
});

/** Inserts sessions as Keep writes them, used a minute after each other, the last one a minute ago. */
async function addSessions(accountId: string, count: number): Promise<void> {
  await superuser.query(
    "WITH added AS (INSERT INTO session (account_id, id, session_hash, identity_id, last_seen_at, idle_until, absolute_until, address) SELECT account_id, gen_random_uuid(), sha256(uuid_send(gen_random_uuid())), id, now() - number * interval '1 minute', now() + interval '1 hour', now() + interval '1 day', '127.0.0.1' FROM identity, generate_series(1, $2::int) AS number WHERE account_id = $1 RETURNING session_hash, id) INSERT INTO session_route (session_hash, account_id, session_id) SELECT session_hash, $1, id FROM added",
    [accountId, count],
  );
  await changeSessions(fixture.keep, accountId, "address = address");
}

test("a sign-in beyond two hundred sessions revokes those that were not used for longest", async () => {
  const browser = await fixture.signIn("general", "101");
  const { account } = await browser.session();
  await addSessions(account.id, 205);
  const latest = await fixture.signIn("general", "101");
  expect([await latest.sessions(), await browser.isSignedIn()]).toMatchObject([{ length: 200 }, true]);
  const { rows } = await superuser.query<{ minutes: number }>(
    "SELECT extract(epoch FROM now() - last_seen_at)::int / 60 AS minutes FROM session WHERE account_id = $1 AND ended_at IS NOT NULL ORDER BY 1",
    [account.id],
  );
  expect(rows.map(({ minutes }) => minutes)).toEqual([199, 200, 201, 202, 203, 204, 205]);
});

test("ending a session stays fast in an account with two hundred sessions and a hundred tokens", async () => {
  const browser = await fixture.signIn("general", "102");
  const { account } = await browser.session();
  for (let count = 0; count < 100; count += 1)
    await fixture.keep.addToken({ accountId: account.id }, { scopes: ["vaults:read"] });
  await addSessions(account.id, 198);
  const [, second, third] = await browser.sessions();
  const end = async (id: string | undefined) => {
    const startedAt = performance.now();
    const response = await browser.request(`/api/account/sessions/${id}`, { method: "DELETE" });
    expect(response.status).toBe(204);
    return performance.now() - startedAt;
  };
  const milliseconds = [await end(second?.id), await end(third?.id)];
  // Far above what it takes, so that a busy machine does not fail it.
  expect(Math.min(...milliseconds)).toBeLessThan(1000);
  expect(await browser.sessions()).toHaveLength(197);
});

async function countDeadlocks(): Promise<string | undefined> {
  const { rows } = await superuser.query<{ deadlocks: string }>(
    "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()",
  );
  return rows[0]?.deadlocks;
}

test("concurrent sign-ins and sign-outs of one person on two nodes all succeed, without a deadlock", async () => {
  const nodes = [fixture.keep, await fixture.addNode()];
  const before = await countDeadlocks();
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async (_each, position) => {
      const browser = createFakeBrowser(nodes[position % nodes.length] ?? fixture.keep);
      const location = await browser.startSignIn("code-hosting");
      const callback = await fixture.codeHosting.signInAs(location, { account: "first" });
      const signedIn = await browser.followCallback(callback);
      const path = position % 5 === 0 ? "/api/account/sessions" : undefined;
      const signedOut =
        path === undefined
          ? await browser.request("/auth/logout", { method: "POST" })
          : await browser.request(path, { method: "DELETE" });
      // Another one may have signed out everybody else.
      return [signedIn.status, signedOut.status === 401 ? 204 : signedOut.status];
    }),
  );
  expect(new Set(statuses.map(String))).toEqual(new Set(["303,303", "303,204"]));
  expect(await countDeadlocks()).toBe(before);
  expect(await (await fixture.signIn("code-hosting", "first")).isSignedIn()).toBe(true);
});
