import { afterAll, beforeAll, expect, test } from "vitest";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { startTestKeep } from "../test/start-test-keep.ts";
import { visitKeep } from "../test/fake-browser.ts";

let world: KeepWithProviders;
beforeAll(async () => {
  world = await startKeepWithProviders();
});
afterAll(() => world[Symbol.asyncDispose]());

async function changeSessions(accountId: string, change: string): Promise<void> {
  await world.keep.database.inAccount(accountId, (transaction) =>
    transaction.query({ text: `UPDATE session SET ${change}` }),
  );
}

test("a session that was planted before the sign-in is not the session after it", async () => {
  const planted = "A".repeat(43);
  const visitor = visitKeep(world.keep);
  visitor.cookies.set("session", planted);
  const location = await visitor.leave("general");
  await visitor.comeBack(await world.general.signInAs(location, { account: "101" }));
  expect(visitor.cookies.get("session")).not.toBe(planted);
  expect(await visitor.isSignedIn()).toBe(true);
  const thief = await visitKeep(world.keep).ask("/api/session", { cookie: `session=${planted}` });
  expect(thief.status).toBe(401);
});

test("the cookie of a session is kept from scripts, other sites and, over https, from plain connections", async () => {
  const visitor = visitKeep(world.keep);
  const callback = await world.general.signInAs(await visitor.leave("general"), { account: "101" });
  const [plain] = (await visitor.comeBack(callback)).headers.getSetCookie();
  expect(plain).toMatch(/^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/);
  await using secure = await startTestKeep({
    settings: {
      publicUrl: "https://keep.example",
      generalIssuer: world.general.issuer,
      generalClientId: "x",
    },
  });
  const begun = await visitKeep(secure).ask("/auth/login/general", { method: "POST" });
  expect(begun.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-login=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/),
  ]);
  expect(new URL(begun.headers.get("location") ?? "").searchParams.get("redirect_uri")).toBe(
    "https://keep.example/auth/callback/general",
  );
  expect(begun.headers.get("strict-transport-security")).toBe("max-age=63072000");
});

test("a session ends when it was idle too long and when it lived too long, by the database's clock", async () => {
  const visitor = await world.signIn("general", "101");
  const { account } = await visitor.session();
  await changeSessions(account.id, "idle_until = now() + interval '1 minute'");
  expect(await visitor.isSignedIn()).toBe(true);
  await changeSessions(account.id, "idle_until = now() - interval '1 second'");
  expect(await visitor.isSignedIn()).toBe(false);
  const other = await world.signIn("general", "101");
  await changeSessions(account.id, "absolute_until = now() - interval '1 second'");
  expect(await other.isSignedIn()).toBe(false);
});

test("a session that has not held for a month is gone after the next sign-in, and a later one stays", async () => {
  const visitor = await world.signIn("code-hosting", "second");
  const { account } = await visitor.session();
  const countRows = () =>
    world.keep.database.ask<{ count: number }>({
      text: "SELECT count(*)::int AS count FROM session_route WHERE account_id = $1",
      values: [account.id],
    });
  await changeSessions(account.id, "idle_until = now() - interval '31 days'");
  await world.signIn("code-hosting", "second");
  expect(await countRows()).toEqual([{ count: 1 }]);
  await changeSessions(account.id, "idle_until = now() - interval '29 days'");
  await world.signIn("code-hosting", "second");
  expect(await countRows()).toEqual([{ count: 2 }]);
});

test("use moves the idle limit on at most once a minute and never beyond the whole life", async () => {
  const visitor = await world.signIn("general", "101");
  const { account, id } = await visitor.session();
  const read = async () => {
    const found = (await visitor.sessions()).find((each) => each.id === id);
    if (found === undefined) throw new Error("The session is not listed");
    return found;
  };
  const first = await read();
  expect(await read()).toEqual(first);
  await changeSessions(account.id, "last_seen_at = now() - interval '2 minutes'");
  const later = await read();
  expect(Date.parse(later.idle_until)).toBeGreaterThan(Date.parse(first.idle_until));
  await changeSessions(
    account.id,
    "last_seen_at = now() - interval '2 minutes', absolute_until = now() + interval '1 hour'",
  );
  const last = await read();
  expect(last.idle_until).toBe(last.absolute_until);
});

test("sessions are listed, one is ended by its id, all others at once, and nobody ends another's", async () => {
  const [first, second, third] = [
    await world.signIn("code-hosting", "first"),
    await world.signIn("code-hosting", "first"),
    await world.signIn("code-hosting", "first"),
  ];
  const stranger = await world.signIn("code-hosting", "second");
  const items = await first.sessions();
  expect(items.map(({ is_current }) => is_current)).toEqual([false, false, true]);
  expect(items[0]).toMatchObject({ address: "127.0.0.1", user_agent: "visitor" });
  const path = `/api/account/sessions/${items[0]?.id}`;
  expect((await stranger.ask(path, { method: "DELETE" })).status).toBe(404);
  expect(await third.isSignedIn()).toBe(true);
  expect((await first.ask(path, { method: "DELETE" })).status).toBe(204);
  expect([await third.isSignedIn(), await second.isSignedIn()]).toEqual([false, true]);
  expect((await first.ask("/api/account/sessions", { method: "DELETE" })).status).toBe(204);
  expect([await second.isSignedIn(), await first.isSignedIn(), await stranger.isSignedIn()]).toEqual([
    false,
    true,
    true,
  ]);
});

test("only the hash of a session is stored, and a page of another site cannot use it", async () => {
  const visitor = await world.signIn("general", "101");
  const { session } = Object.fromEntries(visitor.cookies);
  const rows = await world.keep.database.ask<{ stored: string }>({
    text: "SELECT encode(session_hash, 'base64') AS stored FROM session_route",
  });
  expect(rows.some(({ stored }) => stored.includes(session ?? "missing"))).toBe(false);
  expect(world.keep.logLines.some((line) => line.includes(session ?? "missing"))).toBe(false);
  const statuses = await Promise.all(
    [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "same-origin" },
    ].map(async (headers) => (await visitor.ask("/api/session", { headers })).status),
  );
  expect(statuses).toEqual([403, 403, 403, 200]);
  const without = (headers: Record<string, string>) =>
    world.keep.ask("/api/session", { headers: { cookie: `session=${session}`, ...headers } });
  expect((await without({})).status).toBe(403);
  expect((await without({ origin: "http://127.0.0.2:1" })).status).toBe(403);
  expect((await without({ origin: world.keep.url })).status).toBe(200);
});

test("the way out is for our own pages, and going it twice is no mistake", async () => {
  const visitor = await world.signIn("general", "101");
  const foreign = { method: "POST", headers: { "sec-fetch-site": "cross-site" } };
  expect((await visitor.ask("/auth/logout", foreign)).status).toBe(403);
  expect(await visitor.isSignedIn()).toBe(true);
  const program = { method: "POST", headers: { accept: "application/json" } };
  expect((await visitor.ask("/auth/logout", program)).status).toBe(204);
  expect((await visitor.ask("/auth/logout", program)).status).toBe(204);
  expect(await visitor.isSignedIn()).toBe(false);
});

test("a provider that is away leaves sessions alone, is said so in plain words, and is asked again later", async () => {
  await using lonely = await startTestKeep({
    settings: {
      generalName: "Gone",
      generalIssuer: "http://127.0.0.1:9",
      generalClientId: "keep",
      codeHostingUrl: world.codeHosting.origin,
      codeHostingApiUrl: world.codeHosting.apiUrl,
      codeHostingClientId: "keep",
      codeHostingClientSecret: "secret-of-keep",
    },
  });
  const signedIn = await world.signIn("code-hosting", "first", lonely);
  const response = await visitKeep(lonely).ask("/auth/login/general", { method: "POST" });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "10"]);
  expect(await response.text()).toContain("Gone does not answer as it should");
  expect(await signedIn.isSignedIn()).toBe(true);
  const page = await visitKeep(lonely).ask("/sign-in");
  expect([page.status, (await page.text()).includes("Continue with Gone")]).toEqual([200, true]);
});
