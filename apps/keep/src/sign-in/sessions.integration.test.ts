import { afterAll, beforeAll, expect, test } from "vitest";
import { changeSessions } from "../test/change-sessions.ts";
import { createFakeBrowser } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { startTestKeep } from "../test/start-test-keep.ts";

let fixture: KeepWithProviders;
beforeAll(async () => {
  fixture = await startKeepWithProviders();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const change = (accountId: string, assignments: string) =>
  changeSessions(fixture.keep, accountId, assignments);

test("a session cookie planted before the sign-in is replaced (session fixation)", async () => {
  const planted = "A".repeat(43);
  const browser = createFakeBrowser(fixture.keep);
  browser.cookies.set("session", planted);
  const location = await browser.startSignIn("general");
  await browser.followCallback(await fixture.general.signInAs(location, { account: "101" }));
  expect(browser.cookies.get("session")).not.toBe(planted);
  expect(await browser.isSignedIn()).toBe(true);
  const attacker = await createFakeBrowser(fixture.keep).request("/api/session", {
    cookie: `session=${planted}`,
  });
  expect(attacker.status).toBe(401);
});

test("session cookies are HttpOnly, SameSite and, over https, Secure", async () => {
  const browser = createFakeBrowser(fixture.keep);
  const callback = await fixture.general.signInAs(await browser.startSignIn("general"), { account: "101" });
  const [plain] = (await browser.followCallback(callback)).headers.getSetCookie();
  expect(plain).toMatch(/^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/);
  await using secure = await startTestKeep({
    settings: {
      publicUrl: "https://keep.example",
      generalIssuer: fixture.general.issuer,
      generalClientId: "x",
    },
  });
  const started = await createFakeBrowser(secure).request("/auth/login/general", { method: "POST" });
  expect(started.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-login=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/),
  ]);
  expect(new URL(started.headers.get("location") ?? "").searchParams.get("redirect_uri")).toBe(
    "https://keep.example/auth/callback/general",
  );
  expect(started.headers.get("strict-transport-security")).toBe("max-age=63072000");
});

test("a session expires by its idle and absolute timeouts, by the database's clock", async () => {
  const browser = await fixture.signIn("general", "101");
  const { account } = await browser.session();
  await change(account.id, "idle_until = now() + interval '1 minute'");
  expect(await browser.isSignedIn()).toBe(true);
  await change(account.id, "idle_until = now() - interval '1 second'");
  expect(await browser.isSignedIn()).toBe(false);
  const other = await fixture.signIn("general", "101");
  await change(account.id, "absolute_until = now() - interval '1 second'");
  expect(await other.isSignedIn()).toBe(false);
});

test("the next sign-in deletes sessions that expired more than a month ago, and keeps later ones", async () => {
  const browser = await fixture.signIn("code-hosting", "second");
  const { account } = await browser.session();
  const countRows = () =>
    fixture.keep.database.query<{ count: number }>({
      text: "SELECT count(*)::int AS count FROM session_route WHERE account_id = $1",
      values: [account.id],
    });
  await change(account.id, "idle_until = now() - interval '31 days'");
  await fixture.signIn("code-hosting", "second");
  expect(await countRows()).toEqual([{ count: 1 }]);
  await change(account.id, "idle_until = now() - interval '29 days'");
  await fixture.signIn("code-hosting", "second");
  expect(await countRows()).toEqual([{ count: 2 }]);
});

test("requests extend the idle timeout at most once a minute and never beyond the absolute timeout", async () => {
  const browser = await fixture.signIn("general", "101");
  const { account, id } = await browser.session();
  const read = async () => {
    const found = (await browser.sessions()).find((each) => each.id === id);
    if (found === undefined) throw new Error("The session is not listed");
    return found;
  };
  const first = await read();
  expect(await read()).toEqual(first);
  await change(account.id, "last_seen_at = now() - interval '2 minutes'");
  const later = await read();
  expect(Date.parse(later.idle_until)).toBeGreaterThan(Date.parse(first.idle_until));
  await change(
    account.id,
    "last_seen_at = now() - interval '2 minutes', absolute_until = now() + interval '1 hour'",
  );
  const last = await read();
  expect(last.idle_until).toBe(last.absolute_until);
});

test("sessions can be listed and revoked, one by id or all others, but not those of another account", async () => {
  const [first, second, third] = [
    await fixture.signIn("code-hosting", "first"),
    await fixture.signIn("code-hosting", "first"),
    await fixture.signIn("code-hosting", "first"),
  ];
  const stranger = await fixture.signIn("code-hosting", "second");
  const items = await first.sessions();
  expect(items.map(({ is_current }) => is_current)).toEqual([false, false, true]);
  expect(items[0]).toMatchObject({ address: "127.0.0.1", user_agent: "fake browser" });
  const path = `/api/account/sessions/${items[0]?.id}`;
  expect((await stranger.request(path, { method: "DELETE" })).status).toBe(404);
  expect(await third.isSignedIn()).toBe(true);
  expect((await first.request(path, { method: "DELETE" })).status).toBe(204);
  expect([await third.isSignedIn(), await second.isSignedIn()]).toEqual([false, true]);
  expect((await first.request("/api/account/sessions", { method: "DELETE" })).status).toBe(204);
  expect([await second.isSignedIn(), await first.isSignedIn(), await stranger.isSignedIn()]).toEqual([
    false,
    true,
    true,
  ]);
});

test("only the hash of a session is stored, and pages of other sites cannot use it", async () => {
  const browser = await fixture.signIn("general", "101");
  const { session } = Object.fromEntries(browser.cookies);
  const rows = await fixture.keep.database.query<{ stored: string }>({
    text: "SELECT encode(session_hash, 'base64') AS stored FROM session_route",
  });
  expect(rows.some(({ stored }) => stored.includes(session ?? "missing"))).toBe(false);
  expect(fixture.keep.logLines.some((line) => line.includes(session ?? "missing"))).toBe(false);
  const statuses = await Promise.all(
    [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "same-origin" },
    ].map(async (headers) => (await browser.request("/api/session", { headers })).status),
  );
  expect(statuses).toEqual([403, 403, 403, 200]);
  const without = (headers: Record<string, string>) =>
    fixture.keep.request("/api/session", { headers: { cookie: `session=${session}`, ...headers } });
  expect((await without({})).status).toBe(403);
  expect((await without({ origin: "http://127.0.0.2:1" })).status).toBe(403);
  expect((await without({ origin: fixture.keep.url })).status).toBe(200);
});

test("signing out works only from Keep's own pages and is idempotent", async () => {
  const browser = await fixture.signIn("general", "101");
  const foreign = { method: "POST", headers: { "sec-fetch-site": "cross-site" } };
  expect((await browser.request("/auth/logout", foreign)).status).toBe(403);
  expect(await browser.isSignedIn()).toBe(true);
  const program = { method: "POST", headers: { accept: "application/json" } };
  expect((await browser.request("/auth/logout", program)).status).toBe(204);
  expect((await browser.request("/auth/logout", program)).status).toBe(204);
  expect(await browser.isSignedIn()).toBe(false);
});

test("an unavailable provider gives a clear error and does not affect existing sessions", async () => {
  await using keep = await startTestKeep({
    settings: {
      generalName: "Gone",
      generalIssuer: "http://127.0.0.1:9",
      generalClientId: "keep",
      codeHostingUrl: fixture.codeHosting.origin,
      codeHostingApiUrl: fixture.codeHosting.apiUrl,
      codeHostingClientId: "keep",
      codeHostingClientSecret: "secret-of-keep",
    },
  });
  const signedIn = await fixture.signIn("code-hosting", "first", keep);
  const response = await createFakeBrowser(keep).request("/auth/login/general", { method: "POST" });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "10"]);
  expect(await response.text()).toContain("Gone is currently unavailable");
  expect(await signedIn.isSignedIn()).toBe(true);
  const page = await createFakeBrowser(keep).request("/sign-in");
  expect([page.status, (await page.text()).includes("Continue with Gone")]).toEqual([200, true]);
});
