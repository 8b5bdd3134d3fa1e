import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { explainFailure, type Failure, type StartFailure } from "../failures.ts";
import { createFakeBrowser, type FakeBrowser } from "../test/fake-browser.ts";
import { startTestKeep } from "../test/start-test-keep.ts";

const client = { generalClientId: "keep", generalIssuer: "http://127.0.0.1:1" };

/** From the button to the session, by way of Keep's own page. */
async function signInAs(browser: FakeBrowser, name: string): Promise<Response> {
  const page = await browser.startSignIn("general");
  const response = await browser.request(page.pathname + page.search);
  const html = await response.text();
  expect([response.status, html.includes("signs in under any name")]).toEqual([200, true]);
  const state = /name="state" value="([^"]+)"/u.exec(html)?.[1] ?? "";
  const query = new URLSearchParams({ state, name });
  return browser.request(`/auth/callback/general?${query.toString()}`);
}

async function startFailure(settings: Readonly<Record<string, string>>): Promise<string> {
  const error: unknown = await startTestKeep({ settings }).then(
    async (keep) => {
      await keep[Symbol.asyncDispose]();
      return undefined;
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof FailureError)) return "it started";
  // Keep fails to start with its own failures only.
  const failure = error.failure as Failure as StartFailure;
  return explainFailure(failure).messages.join();
}

test("people sign in under any name, and the same name is the same account", async () => {
  await using keep = await startTestKeep({ settings: { dev: "true" } });
  const [alice, again, bob] = [1, 2, 3].map(() => createFakeBrowser(keep));
  if (alice === undefined || again === undefined || bob === undefined)
    throw new Error("Expected three browsers");
  expect((await signInAs(alice, "Alice")).status).toBe(303);
  expect((await signInAs(again, " alice ")).status).toBe(303);
  expect((await signInAs(bob, "Bob <b>Builder</b>")).status).toBe(303);
  const accounts = await Promise.all([alice, again, bob].map((browser) => browser.account()));
  expect(accounts.map(({ display_name: name }) => name)).toEqual(["Alice", "Alice", "Bob <b>Builder</b>"]);
  expect(accounts[1]?.id).toBe(accounts[0]?.id);
  expect(accounts[2]?.id).not.toBe(accounts[0]?.id);
});

test("the sign-in page, the output and the log say that nothing is verified", async () => {
  await using keep = await startTestKeep({ settings: { dev: "true" } });
  const page = await (await createFakeBrowser(keep).request("/sign-in")).text();
  expect(page).toContain("Development sign-in.");
  expect(page).not.toContain("No code-hosting provider is configured");
  await expect.poll(() => keep.printed.join("\n")).toContain("DEVELOPMENT SIGN-IN");
  expect(keep.logLines.join("")).toContain("Development sign-in is on");
});

test("a name is needed, from the browser in which the sign-in was started", async () => {
  await using keep = await startTestKeep({ settings: { dev: "true" } });
  const browser = createFakeBrowser(keep);
  expect((await signInAs(browser, " \u0000 ")).status).toBe(403);
  const started = await browser.startSignIn("general");
  const other = createFakeBrowser(keep);
  const callback = `/auth/callback/general?state=${started.searchParams.get("state") ?? ""}&name=Alice`;
  expect((await other.request(callback)).status).toBe(403);
  expect((await browser.request(`${callback}&name=Bob`)).status).toBe(403);
  expect((await signInAs(browser, "Alice")).status).toBe(303);
});

test("without --dev there is no such page and no such provider", async () => {
  await using keep = await startTestKeep();
  const browser = createFakeBrowser(keep);
  const page = await browser.request(`/auth/development?state=${"a".repeat(43)}`);
  expect(page.status).toBe(404);
  expect((await browser.request("/auth/login/general", { method: "POST" })).status).toBe(404);
});

test.each([
  [{ host: "0.0.0.0" }, "must be addresses of this machine"],
  [{ publicUrl: "https://keep.example" }, "must be addresses of this machine"],
  [{ trustedProxies: "127.0.0.1" }, "KEEP_TRUSTED_PROXIES"],
  [client, "but one is configured"],
  [{ admission: "invitation" }, "KEEP_ADMISSION"],
  [{ operators: "general:alice" }, "KEEP_OPERATORS"],
])("development sign-in does not start with %j", async (settings, reason) => {
  expect(await startFailure({ dev: "true", ...settings })).toContain(reason);
});

test("development sign-in does not start on a database whose people use a provider", async () => {
  await using keep = await startTestKeep();
  const same = { databaseUrl: keep.databaseUrl, encryptionKey: keep.key, dev: "true" };
  expect(await startFailure(same)).toBe("it started");
  await keep.addPerson();
  expect(await startFailure(same)).toContain(
    "this database has accounts of people who signed in with a provider",
  );
});
