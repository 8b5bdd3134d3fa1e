import { expect, test } from "vitest";
import { createFakeBrowser } from "../test/fake-browser.ts";
import { startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { generateToken } from "../tokens/token-format.ts";

test("signing in with each provider creates a separate account", async () => {
  await using fixture = await startKeepWithProviders();
  const general = await fixture.signIn("general", "101");
  const codeHosting = await fixture.signIn("code-hosting", "first");
  const accounts = await Promise.all([general.account(), codeHosting.account()]);
  expect(accounts).toMatchObject([
    {
      display_name: "First Person",
      identities: [{ provider: "general", issuer: fixture.general.issuer, email: "first@example.com" }],
    },
    {
      display_name: "First Person",
      identities: [{ provider: "code-hosting", issuer: fixture.codeHosting.origin, login: "first" }],
    },
  ]);
  expect(new Set(accounts.map(({ id }) => id)).size).toBe(2);
});

test("signing in again uses the same account with a new session", async () => {
  await using fixture = await startKeepWithProviders();
  const browsers = [
    await fixture.signIn("code-hosting", "first"),
    await fixture.signIn("code-hosting", "first"),
  ];
  const sessions = await Promise.all(browsers.map((browser) => browser.session()));
  expect(sessions[0]?.account).toEqual(sessions[1]?.account);
  expect(sessions[0]?.id).not.toBe(sessions[1]?.id);
  expect(sessions[0]?.providers).toEqual([
    { kind: "code-hosting", name: "Code Host" },
    { kind: "general", name: "General Provider" },
  ]);
});

test("the sign-in page shows who is signed in, and signing out revokes the session on the server", async () => {
  await using fixture = await startKeepWithProviders();
  const browser = await fixture.signIn("general", "102");
  const page = await (await browser.request("/sign-in")).text();
  expect(page).toContain("Second &lt;b&gt;Person&lt;/b&gt;");
  const cookie = `session=${browser.cookies.get("session")}`;
  const response = await browser.request("/auth/logout", { method: "POST" });
  expect([
    response.status,
    response.headers.get("location"),
    response.headers.get("clear-site-data"),
  ]).toEqual([303, "/sign-in", '"cache", "storage"']);
  expect(browser.cookies.has("session")).toBe(false);
  expect((await createFakeBrowser(fixture.keep).request("/api/session", { cookie })).status).toBe(401);
});

test("a person stays signed in while somebody behind the same address sends invalid tokens", async () => {
  await using fixture = await startKeepWithProviders();
  const browser = await fixture.signIn("general", "101");
  const guess = async () =>
    (await fixture.keep.request("/api/secrets/vaults", { token: generateToken() })).status;
  const statuses = await Promise.all(Array.from({ length: 150 }, guess));
  expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(60);
  expect(await guess()).toBe(429);
  expect((await browser.request("/api/secrets/vaults")).status).toBe(200);
  expect(await browser.isSignedIn()).toBe(true);
  expect((await browser.request("/api/session", { cookie: "session=forged" })).status).not.toBe(200);
});
