import { expect, test } from "vitest";
import { startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { visitKeep } from "../test/fake-browser.ts";

test("a person signs in with either provider and gets an account each", async () => {
  await using world = await startKeepWithProviders();
  const general = await world.signIn("general", "101");
  const codeHosting = await world.signIn("code-hosting", "first");
  const accounts = await Promise.all([general.account(), codeHosting.account()]);
  expect(accounts).toMatchObject([
    {
      display_name: "First Person",
      identities: [{ provider: "general", issuer: world.general.issuer, email: "first@example.com" }],
    },
    {
      display_name: "First Person",
      identities: [{ provider: "code-hosting", issuer: world.codeHosting.origin, login: "first" }],
    },
  ]);
  expect(new Set(accounts.map(({ id }) => id)).size).toBe(2);
});

test("the same person who signs in again enters the same account with a new session", async () => {
  await using world = await startKeepWithProviders();
  const visits = [await world.signIn("code-hosting", "first"), await world.signIn("code-hosting", "first")];
  const sessions = await Promise.all(visits.map((visit) => visit.session()));
  expect(sessions[0]?.account).toEqual(sessions[1]?.account);
  expect(sessions[0]?.id).not.toBe(sessions[1]?.id);
  expect(sessions[0]?.providers).toEqual([
    { kind: "code-hosting", name: "Code Host" },
    { kind: "general", name: "General Provider" },
  ]);
});

test("the sign-in page says who is signed in and the way out ends the session on the server", async () => {
  await using world = await startKeepWithProviders();
  const visitor = await world.signIn("general", "102");
  const page = await (await visitor.ask("/sign-in")).text();
  expect(page).toContain("Second &lt;b&gt;Person&lt;/b&gt;");
  const cookie = `session=${visitor.cookies.get("session")}`;
  const out = await visitor.ask("/auth/logout", { method: "POST" });
  expect([out.status, out.headers.get("location"), out.headers.get("clear-site-data")]).toEqual([
    303,
    "/sign-in",
    '"cache", "storage"',
  ]);
  expect(visitor.cookies.has("session")).toBe(false);
  expect((await visitKeep(world.keep).ask("/api/session", { cookie })).status).toBe(401);
});
