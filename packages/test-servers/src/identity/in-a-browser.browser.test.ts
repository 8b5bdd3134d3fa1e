import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBrowser, type TestBrowser } from "../browser/start-browser.ts";
import { type LoopbackServer, serveOnLoopback } from "../loopback-server.ts";
import { privatePerson } from "./code-hosting/example-accounts.ts";
import { startCodeHostingProvider } from "./code-hosting/start-code-hosting-provider.ts";
import { startGeneralIdentityProvider } from "./general/start-general-provider.ts";
import { application, beginSignIn, discoverProvider } from "./relying-application.ts";

let browser: TestBrowser;
let site: LoopbackServer;
beforeAll(async () => {
  browser = await startBrowser();
  site = await serveOnLoopback((_request, response) => void response.end("arrived"));
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await browser[Symbol.asyncDispose]();
});

test("a user signs in and consents at the general provider, is remembered, and can cancel", async () => {
  const callback = `${site.origin}/callback`;
  await using provider = await startGeneralIdentityProvider({
    accounts: [{ subject: "101", email: "first@example.com", isEmailVerified: true }],
    clients: [{ id: application.id, secret: application.secret, redirectUris: [callback] }],
  });
  const { url } = await beginSignIn(await discoverProvider(provider.issuer));
  url.searchParams.set("redirect_uri", callback);
  const page = await browser.openPage(url.href);
  await page.getByLabel("Account").fill("first@example.com");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
  expect((await waitForCallback(page, callback)).has("code")).toBe(true);
  await page.goto(url.href);
  expect((await waitForCallback(page, callback)).has("code")).toBe(true);
  url.searchParams.set("prompt", "login");
  await page.goto(url.href);
  await page.getByRole("button", { name: "Cancel" }).click();
  expect((await waitForCallback(page, callback)).get("error")).toBe("access_denied");
});

test("a user authorizes an application at the code hosting provider after a mistyped login", async () => {
  const callbackUrl = `${site.origin}/callback`;
  await using provider = await startCodeHostingProvider({
    accounts: [privatePerson],
    applications: [{ clientId: application.id, clientSecret: application.secret, callbackUrl }],
  });
  const page = await browser.openPage(
    `${provider.authorizationEndpoint}?client_id=${application.id}&state=kept`,
  );
  await page.getByLabel("Account").fill("frist");
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByText("There is no such account").waitFor();
  await page.getByLabel("Account").fill("first");
  await page.keyboard.press("Enter");
  const parameters = await waitForCallback(page, callbackUrl);
  expect([parameters.has("code"), parameters.get("state")]).toEqual([true, "kept"]);
});

async function waitForCallback(page: Page, callback: string): Promise<URLSearchParams> {
  await page.waitForURL((url) => url.href.startsWith(callback));
  return new URL(page.url()).searchParams;
}
