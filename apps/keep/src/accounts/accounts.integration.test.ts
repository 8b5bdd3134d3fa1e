import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeSessions } from "../test/change-sessions.ts";
import type { FakeBrowser } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";

let fixture: KeepWithProviders;
beforeAll(async () => {
  fixture = await startKeepWithProviders();
});
afterAll(() => fixture[Symbol.asyncDispose]());

async function link(
  browser: FakeBrowser,
  kind: "general" | "code-hosting",
  account: string,
): Promise<Response> {
  const started = await browser.request(`/auth/link/${kind}`, { method: "POST" });
  return browser.followCallback(
    await fixture.authenticateAt(kind, started.headers.get("location") ?? "", account),
  );
}

const ageSignIn = (accountId: string) =>
  changeSessions(fixture.keep, accountId, "authenticated_at = now() - interval '1 hour'");

test("the same email address at two providers creates two accounts", async () => {
  const [first, second] = [
    await fixture.signIn("general", "101"),
    await fixture.signIn("code-hosting", "first"),
  ];
  const [one, other] = [await first.account(), await second.account()];
  expect([one.identities[0]?.email, other.identities[0]?.email]).toEqual([
    "first@example.com",
    "first@example.com",
  ]);
  expect(one.id).not.toBe(other.id);
});

test("an unverified email address is not shown, and a reassigned login is another person", async () => {
  const emails = [{ email: "x@example.com", primary: true, verified: false, visibility: null }] as const;
  fixture.codeHosting.putAccount({ id: 601, login: "renamed", name: null, emails });
  const before = await (await fixture.signIn("code-hosting", "renamed")).account();
  expect(before.identities[0]).toMatchObject({ login: "renamed", email: null });
  fixture.codeHosting.putAccount({ id: 601, login: "renamed-since", name: null, emails: [] });
  fixture.codeHosting.putAccount({ id: 602, login: "renamed", name: null, emails });
  const same = await (await fixture.signIn("code-hosting", "renamed-since")).account();
  const newOwner = await (await fixture.signIn("code-hosting", "renamed")).account();
  expect([same.id, same.identities[0]?.login]).toEqual([before.id, "renamed-since"]);
  expect(newOwner.id).not.toBe(before.id);
});

test("a linked identity signs in to the same account, and the last identity cannot be unlinked", async () => {
  fixture.general.putAccount({ subject: "701", email: "seven@example.com", isEmailVerified: true });
  fixture.codeHosting.putAccount({ id: 702, login: "seven", name: "Seven", emails: [] });
  const browser = await fixture.signIn("general", "701");
  const before = await browser.account();
  expect(
    (await browser.request(`/api/account/identities/${before.identities[0]?.id}`, { method: "DELETE" }))
      .status,
  ).toBe(409);
  expect((await link(browser, "code-hosting", "seven")).status).toBe(303);
  const other = await fixture.signIn("code-hosting", "seven");
  const linked = await other.account();
  expect(linked.id).toBe(before.id);
  const [first, second] = linked.identities;
  expect([first?.provider, second?.provider, second?.is_current]).toEqual(["general", "code-hosting", true]);
  const path = `/api/account/identities/${second?.id}`;
  const stranger = await fixture.signIn("general", "102");
  expect((await stranger.request(path, { method: "DELETE" })).status).toBe(404);
  expect((await browser.request(path, { method: "DELETE" })).status).toBe(204);
  expect([await other.isSignedIn(), await browser.isSignedIn()]).toEqual([false, true]);
  expect((await (await fixture.signIn("code-hosting", "seven")).account()).id).not.toBe(before.id);
});

test("routes that require a fresh sign-in reject an old one, and reauthentication starts a new, fresh session", async () => {
  const browser = await fixture.signIn("general", "101");
  const { id } = await browser.account();
  expect((await browser.session()).fresh_seconds).toBeGreaterThan(800);
  await ageSignIn(id);
  expect((await browser.session()).fresh_seconds).toBe(0);
  const refused = await browser.request("/auth/link/code-hosting", { method: "POST" });
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: "fresh_sign_in_required" }]);
  const old = browser.cookies.get("session");
  const started = await browser.request("/auth/confirm/general", { method: "POST" });
  const callback = await fixture.general.signInAs(started.headers.get("location") ?? "", { account: "101" });
  expect((await browser.followCallback(callback)).status).toBe(303);
  expect(browser.cookies.get("session")).not.toBe(old);
  expect((await browser.request("/api/session", { cookie: `session=${old}` })).status).toBe(401);
  expect((await browser.request("/auth/link/code-hosting", { method: "POST" })).status).toBe(303);
});

test("deleting an account requires its name and a fresh sign-in, and deletes everything in it", async () => {
  fixture.general.putAccount({
    subject: "801",
    email: "eight@example.com",
    isEmailVerified: true,
    name: "Eight",
  });
  const browser = await fixture.signIn("general", "801");
  const other = await fixture.signIn("general", "801");
  const { id, display_name } = await browser.account();
  const token = await fixture.keep.addToken({ accountId: id }, { scopes: ["vaults:read"] });
  const reads = async () => (await fixture.keep.request("/api/secrets/vaults", { token: token.text })).status;
  expect(await reads()).toBe(200);
  expect((await browser.account()).holds).toEqual({ vaults: 1, secrets: 0, tokens: 1 });
  const remove = (confirm: string) =>
    browser.request("/api/account", { method: "DELETE", body: { confirm } });
  expect((await remove("Nine")).status).toBe(422);
  await ageSignIn(id);
  expect((await remove(display_name)).status).toBe(403);
  await changeSessions(fixture.keep, id, "authenticated_at = now()");
  expect((await remove(display_name)).status).toBe(204);
  expect([await browser.isSignedIn(), await other.isSignedIn()]).toEqual([false, false]);
  await expect.poll(reads, { timeout: 2000 }).toBe(401);
  const remains = () => readRemains(id, fixture.keep.databaseUrl);
  // The contents of audit records are erased in the background.
  await expect.poll(remains, { timeout: 20_000 }).toEqual({
    identity: 0,
    identity_route: 0,
    session: 0,
    session_route: 0,
    vault: 0,
    vault_key: 0,
    secret: 0,
    secret_version: 0,
    token_route: 0,
    live_token: 0,
    events: ["account-deleted"],
    status: "deleted",
  });
  const again = await (await fixture.signIn("general", "801")).account();
  expect([again.id === id, again.display_name]).toEqual([false, "Eight"]);
});

/** Rows left of the account, read as a superuser. */
async function readRemains(accountId: string, url: string): Promise<Record<string, unknown>> {
  const client = new Client(url);
  await client.connect();
  try {
    const tables = ["identity", "identity_route", "session", "session_route", "vault", "vault_key"].concat([
      "secret",
      "secret_version",
      "token_route",
      "live_token",
    ]);
    const counts = tables.map(
      (table) => `(SELECT count(*)::int FROM ${table} WHERE account_id = $1) AS ${table}`,
    );
    const { rows } = await client.query<Record<string, unknown>>(
      `SELECT ${counts.join(", ")}, (SELECT status FROM account WHERE account_id = $1) AS status, (SELECT array_agg(body::json ->> 'type') FROM audit_record WHERE account_id = $1 AND body IS NOT NULL) AS events`,
      [accountId],
    );
    return rows[0] ?? {};
  } finally {
    await client.end();
  }
}
