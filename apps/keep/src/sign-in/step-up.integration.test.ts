import { afterAll, beforeAll, expect, test } from "vitest";
import { createFakeBrowser, type FakeBrowser } from "../test/fake-browser.ts";
import { type FakeProvider, fakeClient, startFakeProvider } from "../test/start-fake-provider.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";

let provider: FakeProvider;
let keep: TestKeep;
let browser: FakeBrowser;

beforeAll(async () => {
  provider = await startFakeProvider();
  keep = await startTestKeep({
    settings: {
      generalIssuer: provider.origin,
      generalClientId: fakeClient.id,
      generalClientSecret: fakeClient.secret,
    },
  });
  browser = createFakeBrowser(keep);
  await browser.followCallback(provider.callbackFor(await browser.startSignIn("general")));
});
afterAll(async () => {
  await keep[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

/** Confirms or links an identity with a response that has these claims; returns the status. */
async function reauthenticate(path: "confirm" | "link", claims: Readonly<Record<string, unknown>>) {
  provider.override({ claims: (valid) => ({ ...valid, ...claims }) });
  const started = await browser.request(`/auth/${path}/general`, { method: "POST" });
  const callback = provider.callbackFor(new URL(started.headers.get("location") ?? ""));
  return (await browser.followCallback(callback)).status;
}

const secondsAgo = (seconds: number): number => Math.floor(Date.now() / 1000) - seconds;

test("a provider that does not state when the person authenticated does not confirm their identity", async () => {
  expect(await browser.isSignedIn()).toBe(true);
  const session = browser.cookies.get("session");
  expect(await reauthenticate("confirm", {})).toBe(403);
  expect(await reauthenticate("confirm", { auth_time: secondsAgo(3600) })).toBe(403);
  // Linking starts from a fresh session, which this response does not have to prove again.
  expect(await reauthenticate("link", {})).toBe(303);
  expect(await reauthenticate("link", { auth_time: secondsAgo(3600) })).toBe(403);
  expect(browser.cookies.get("session")).toBe(session);
  expect(await reauthenticate("confirm", { auth_time: secondsAgo(5) })).toBe(303);
  expect(browser.cookies.get("session")).not.toBe(session);
});
