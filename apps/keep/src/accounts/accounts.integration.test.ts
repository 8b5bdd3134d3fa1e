import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import type { KeepVisitor } from "../test/fake-browser.ts";

let world: KeepWithProviders;
beforeAll(async () => {
  world = await startKeepWithProviders();
});
afterAll(() => world[Symbol.asyncDispose]());

async function link(
  visitor: KeepVisitor,
  kind: "general" | "code-hosting",
  account: string,
): Promise<Response> {
  const begun = await visitor.ask(`/auth/link/${kind}`, { method: "POST" });
  return visitor.comeBack(await world.answerAt(kind, begun.headers.get("location") ?? "", account));
}

async function makeOld(accountId: string): Promise<void> {
  await world.keep.database.inAccount(accountId, (transaction) =>
    transaction.query({ text: "UPDATE session SET authenticated_at = now() - interval '1 hour'" }),
  );
}

test("an e-mail address links nothing: the same one at two providers is two accounts", async () => {
  const [first, second] = [await world.signIn("general", "101"), await world.signIn("code-hosting", "first")];
  const [one, other] = [await first.account(), await second.account()];
  expect([one.identities[0]?.email, other.identities[0]?.email]).toEqual([
    "first@example.com",
    "first@example.com",
  ]);
  expect(one.id).not.toBe(other.id);
});

test("an address that is not verified is not shown, and a login that changes hands is another person", async () => {
  const emails = [{ email: "x@example.com", primary: true, verified: false, visibility: null }] as const;
  world.codeHosting.putAccount({ id: 601, login: "renamed", name: null, emails });
  const before = await (await world.signIn("code-hosting", "renamed")).account();
  expect(before.identities[0]).toMatchObject({ login: "renamed", email: null });
  world.codeHosting.putAccount({ id: 601, login: "renamed-since", name: null, emails: [] });
  world.codeHosting.putAccount({ id: 602, login: "renamed", name: null, emails });
  const same = await (await world.signIn("code-hosting", "renamed-since")).account();
  const heir = await (await world.signIn("code-hosting", "renamed")).account();
  expect([same.id, same.identities[0]?.login]).toEqual([before.id, "renamed-since"]);
  expect(heir.id).not.toBe(before.id);
});

test("a second identity is linked, enters the same account, is unlinked again, and the last one stays", async () => {
  world.general.putAccount({ subject: "701", email: "seven@example.com", isEmailVerified: true });
  world.codeHosting.putAccount({ id: 702, login: "seven", name: "Seven", emails: [] });
  const visitor = await world.signIn("general", "701");
  const before = await visitor.account();
  expect(
    (await visitor.ask(`/api/account/identities/${before.identities[0]?.id}`, { method: "DELETE" })).status,
  ).toBe(409);
  expect((await link(visitor, "code-hosting", "seven")).status).toBe(303);
  const other = await world.signIn("code-hosting", "seven");
  const linked = await other.account();
  expect(linked.id).toBe(before.id);
  const [first, second] = linked.identities;
  expect([first?.provider, second?.provider, second?.is_current]).toEqual(["general", "code-hosting", true]);
  const path = `/api/account/identities/${second?.id}`;
  const stranger = await world.signIn("general", "102");
  expect((await stranger.ask(path, { method: "DELETE" })).status).toBe(404);
  expect((await visitor.ask(path, { method: "DELETE" })).status).toBe(204);
  expect([await other.isSignedIn(), await visitor.isSignedIn()]).toEqual([false, true]);
  expect((await (await world.signIn("code-hosting", "seven")).account()).id).not.toBe(before.id);
});

test("what needs a fresh sign-in is refused later, and confirming makes it fresh with a new session", async () => {
  const visitor = await world.signIn("general", "101");
  const { id } = await visitor.account();
  expect((await visitor.session()).fresh_seconds).toBeGreaterThan(800);
  await makeOld(id);
  expect((await visitor.session()).fresh_seconds).toBe(0);
  const refused = await visitor.ask("/auth/link/code-hosting", { method: "POST" });
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: "fresh_sign_in_required" }]);
  const old = visitor.cookies.get("session");
  const begun = await visitor.ask("/auth/confirm/general", { method: "POST" });
  const callback = await world.general.signInAs(begun.headers.get("location") ?? "", { account: "101" });
  expect((await visitor.comeBack(callback)).status).toBe(303);
  expect(visitor.cookies.get("session")).not.toBe(old);
  expect((await visitor.ask("/api/session", { cookie: `session=${old}` })).status).toBe(401);
  expect((await visitor.ask("/auth/link/code-hosting", { method: "POST" })).status).toBe(303);
});

test("deleting an account needs its name and a fresh sign-in, and takes everything with it", async () => {
  world.general.putAccount({
    subject: "801",
    email: "eight@example.com",
    isEmailVerified: true,
    name: "Eight",
  });
  const visitor = await world.signIn("general", "801");
  const other = await world.signIn("general", "801");
  const { id, display_name } = await visitor.account();
  const token = await world.keep.addToken({ accountId: id }, { scopes: ["vaults:read"] });
  const reads = async () => (await world.keep.ask("/api/secrets/vaults", { token: token.text })).status;
  expect(await reads()).toBe(200);
  expect((await visitor.account()).holds).toEqual({ vaults: 1, secrets: 0, tokens: 1 });
  const remove = (confirm: string) => visitor.ask("/api/account", { method: "DELETE", body: { confirm } });
  expect((await remove("Nine")).status).toBe(422);
  await makeOld(id);
  expect((await remove(display_name)).status).toBe(403);
  await world.keep.database.inAccount(id, (transaction) =>
    transaction.query({ text: "UPDATE session SET authenticated_at = now()" }),
  );
  expect((await remove(display_name)).status).toBe(204);
  expect([await visitor.isSignedIn(), await other.isSignedIn()]).toEqual([false, false]);
  await expect.poll(reads, { timeout: 2000 }).toBe(401);
  expect(await leftOf(id, world.keep.databaseUrl)).toEqual({
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
    words: ["account-deleted"],
    status: "deleted",
  });
  const again = await (await world.signIn("general", "801")).account();
  expect([again.id === id, again.display_name]).toEqual([false, "Eight"]);
});

/** With the rights of a superuser. */
async function leftOf(accountId: string, url: string): Promise<Record<string, unknown>> {
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
      `SELECT ${counts.join(", ")}, (SELECT status FROM account WHERE account_id = $1) AS status, (SELECT array_agg(body::json ->> 'type') FROM audit_event WHERE account_id = $1 AND body IS NOT NULL) AS words`,
      [accountId],
    );
    return rows[0] ?? {};
  } finally {
    await client.end();
  }
}
