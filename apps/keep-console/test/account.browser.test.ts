import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type ConsoleFixture,
  firstAccount,
  signInAtProvider,
  startConsoleFixture,
} from "./console-fixture.ts";

let fixture: ConsoleFixture;
let page: Page;
const flows: string[] = [];
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

beforeAll(async () => {
  fixture = await startConsoleFixture();
  page = await fixture.signIn();
  page.setDefaultTimeout(20_000);
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "console 1",
      text: `sign-in and account: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 10 },
    });
});

async function openAccount(): Promise<void> {
  await page.goto(`${fixture.url}/account`);
  await page.getByRole("heading", { name: "Active sessions" }).waitFor();
}

/** The provider has already granted access to Keep and asks only for the account. */
async function signInAgain(): Promise<void> {
  await page.getByRole("button", { name: "Sign in again with Example" }).click();
  await page.getByRole("textbox", { name: "Account" }).fill("first@example.com");
  await page.getByRole("button", { name: "Sign in" }).click();
}

function expireSignIn(): void {
  fixture.setSignInTime("now() - interval '1 hour'");
}

test("after signing in, a visitor returns to the requested page, and the sign-in page has the console's style", async () => {
  const visitor = await fixture.browser.openPage(`${fixture.url}/account`, { colorScheme: "dark" });
  await visitor.waitForURL(`${fixture.url}/sign-in?return_to=%2Faccount`);
  const background = await visitor.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(background).toBe("rgb(20, 21, 22)");
  expect(await visitor.locator("script").count()).toBe(0);
  await signInAtProvider(visitor, firstAccount);
  await visitor.getByRole("heading", { name: "Account", level: 1 }).waitFor();
  expect(new URL(visitor.url()).pathname).toBe("/account");
  await visitor.context().close();
  flows.push("sign in and return");
});

test("a canceled and an expired sign-in show a plain error with a link back", async () => {
  const visitor = await fixture.browser.openPage(`${fixture.url}/sign-in`);
  await visitor.getByRole("button", { name: "Continue with Forge" }).click();
  await visitor.getByRole("button", { name: "Cancel" }).click();
  await visitor.getByRole("heading", { name: "Sign-in failed" }).waitFor();
  const message = await visitor.getByRole("alert").textContent();
  expect(message).toMatch(/Forge/u);
  expect(message).not.toMatch(/error|access_denied/iu);
  await visitor.getByRole("link", { name: "Back to sign-in" }).click();
  await visitor.getByRole("heading", { name: "Sign in to Keep" }).waitFor();
  await visitor.goto(`${fixture.url}/auth/callback/general?state=long-ago&code=x`);
  await visitor.getByText("This sign-in has expired").waitFor();
  await visitor.context().close();
  flows.push("canceled and expired");
});

test("sessions show browser and address, and are signed out one by one or all at once", async () => {
  const [one, ...rest] = [
    await fixture.signIn(undefined, { userAgent: firefox }),
    await fixture.signIn(undefined, { userAgent: firefox }),
    await fixture.signIn(),
  ];
  await openAccount();
  const rows = page.getByRole("list", { name: "Active sessions" }).getByRole("listitem");
  await rows.nth(3).waitFor();
  const before = await rows.count();
  // Provider names come from another request.
  await expect
    .poll(() => rows.first().textContent())
    .toMatch(/Chrome on LinuxThis session(?:127\.0\.0\.1|::1) · Example/u);
  await page
    .getByRole("button", { name: /^Sign out Firefox on Linux/u })
    .first()
    .click();
  await page.getByText("is signed out immediately").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByText("Session signed out").waitFor();
  await expect.poll(() => rows.count()).toBe(before - 1);
  await page.getByRole("button", { name: "Sign out all others" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out all others" }).click();
  await page.getByText("All other sessions signed out").waitFor();
  await expect.poll(() => rows.count()).toBe(1);
  expect(await page.getByRole("button", { name: "Sign out all others" }).count()).toBe(0);
  for (const other of [one, ...rest]) {
    await other?.goto(`${fixture.url}/secrets`);
    await other?.waitForURL(/\/sign-in\?return_to=/u);
    await other?.context().close();
  }
  flows.push("sign out one session", "sign out all others");
});

test("a second provider is linked after a fresh sign-in, signs in to the same account, and is unlinked again", async () => {
  await openAccount();
  await page.getByText("Your only sign-in method").waitFor();
  expect(await page.getByRole("button", { name: /^Unlink/u }).count()).toBe(0);
  expireSignIn();
  await page.getByRole("button", { name: "Link Forge" }).click();
  await page.getByText("Accounts are never merged").waitFor();
  await page.getByRole("button", { name: "Continue to Forge" }).click();
  await signInAgain();
  await page.getByRole("button", { name: "Continue to Forge" }).click();
  await page.getByRole("textbox", { name: "Account" }).fill("second");
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByText("Forge linked").waitFor();
  expect(page.url()).toBe(`${fixture.url}/account`);
  const methods = page.getByRole("list", { name: "Sign-in methods" }).getByRole("listitem");
  expect(await methods.count()).toBe(2);
  expect(await methods.last().textContent()).toContain("second · second@example.com");
  const other = await fixture.signIn({ at: "code-hosting", account: "second" });
  await other.getByRole("button", { name: "first@example.com" }).waitFor();
  await page.getByRole("button", { name: "Unlink Forge" }).click();
  await page.getByText("second can no longer sign in to this account").waitFor();
  await page.getByRole("button", { name: "Unlink", exact: true }).click();
  await page.getByText("Forge unlinked").waitFor();
  await expect.poll(() => methods.count()).toBe(1);
  await expect.poll(() => other.evaluate(async () => (await fetch("/api/session")).status)).toBe(401);
  await other.context().close();
  flows.push("link with a fresh sign-in", "unlink");
});

test("an identity that already has an account is not linked, and the link back leads to the account", async () => {
  const stranger = await fixture.signIn({ at: "code-hosting", account: "second" });
  await openAccount();
  await page.getByRole("button", { name: "Link Forge" }).click();
  await page.getByRole("button", { name: "Continue to Forge" }).click();
  await page.getByRole("textbox", { name: "Account" }).fill("second");
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByText("This identity already has its own account").waitFor();
  await page.getByRole("link", { name: "Back to account" }).click();
  await page.getByText("Your only sign-in method").waitFor();
  expect(await page.getByText("second", { exact: true }).count()).toBe(0);
  await stranger.context().close();
  flows.push("linking refused");
});

test("an unreachable server is reported, and Try again recovers", async () => {
  await page.route("**/api/account", (route) => route.abort());
  await page.goto(`${fixture.url}/account`);
  await page.getByText("Cannot reach Keep").waitFor();
  expect(await page.getByRole("heading", { name: "Sign-in methods" }).count()).toBe(0);
  await page.unroute("**/api/account");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Your only sign-in method").waitFor();
  flows.push("failed");
});

test("deleting an account lists what it removes and requires its name and a fresh sign-in", async () => {
  const [vault] = await fixture.request<{ id: string }[]>(page, "/api/secrets/vaults");
  await fixture.request(page, "/api/secrets/vaults", { method: "POST", body: { name: "Second" } });
  for (const name of ["A", "B", "C"]) {
    const at = `/api/secrets/vaults/${vault?.id}/secrets/by-path/${name}`;
    await fixture.request(page, at, { method: "PUT", body: { value: "x" } });
  }
  const token = { name: "t", scopes: ["secrets:read"] };
  await fixture.request(page, "/api/secrets/tokens", { method: "POST", body: token });
  await openAccount();
  await page.getByRole("button", { name: "Delete account…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete this account?" });
  const text = await dialog.textContent();
  for (const part of ["2 vaults", "3 secrets", "1 token: programs that use it", "cannot be undone"])
    expect(text).toContain(part);
  const name = dialog.getByLabel("Type first@example.com to confirm");
  await name.fill("First@example.com");
  await page.keyboard.press("Enter");
  await dialog.getByText("Enter first@example.com exactly as shown").waitFor();
  expireSignIn();
  await name.fill("first@example.com");
  await page.keyboard.press("Enter");
  await signInAgain();
  await page.getByRole("button", { name: "Delete account…" }).click();
  await name.fill("first@example.com");
  await dialog.getByRole("button", { name: "Delete account" }).click();
  await page.getByRole("heading", { name: "Sign in to Keep" }).waitFor();
  // The provider still has a session, so it returns at once, to a new account.
  await page.getByRole("button", { name: "Continue with Example" }).click();
  await page.getByRole("button", { name: "first@example.com" }).waitFor();
  const { holds } = await fixture.request<{ holds: object }>(page, "/api/account");
  expect(holds).toEqual({ vaults: 1, secrets: 0, tokens: 0 });
  flows.push("delete the account");
});

test("signing out ends the session in this browser", async () => {
  await page.goto(`${fixture.url}/account`);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in to Keep" }).waitFor();
  expect(await page.evaluate(async () => (await fetch("/api/session")).status)).toBe(401);
  flows.push("sign out");
});
