import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aPerson, type ConsoleStage, passProvider, startConsoleStage } from "./console-fixture.ts";

let stage: ConsoleStage;
let page: Page;
const flows: string[] = [];
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

beforeAll(async () => {
  stage = await startConsoleStage();
  page = await stage.signIn();
  page.setDefaultTimeout(20_000);
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "console 1",
      text: `sign-in and account: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 10 },
    });
});

async function openAccount(): Promise<void> {
  await page.goto(`${stage.url}/account`);
  await page.getByRole("heading", { name: "Where you are signed in" }).waitFor();
}

/** The provider knows already that Keep is allowed, and asks only who it is. */
async function signInAgain(): Promise<void> {
  await page.getByRole("button", { name: "Sign in again with Example" }).click();
  await page.getByRole("textbox", { name: "Account" }).fill("first@example.com");
  await page.getByRole("button", { name: "Sign in" }).click();
}

function makeStale(): void {
  stage.runSql("UPDATE session SET authenticated_at = now() - interval '1 hour'");
}

test("who is not signed in comes back after signing in to where they wanted to go, in the console's look", async () => {
  const visitor = await stage.browser.openPage(`${stage.url}/account`, { colorScheme: "dark" });
  await visitor.waitForURL(`${stage.url}/sign-in?return_to=%2Faccount`);
  const drawn = await visitor.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(drawn).toBe("rgb(20, 21, 22)");
  expect(await visitor.locator("script").count()).toBe(0);
  await passProvider(visitor, aPerson);
  await visitor.getByRole("heading", { name: "Account", level: 1 }).waitFor();
  expect(new URL(visitor.url()).pathname).toBe("/account");
  await visitor.context().close();
  flows.push("sign in and come back");
});

test("a refused and an outdated sign-in are told in plain words, with a way back", async () => {
  const visitor = await stage.browser.openPage(`${stage.url}/sign-in`);
  await visitor.getByRole("button", { name: "Continue with Forge" }).click();
  await visitor.getByRole("button", { name: "Cancel" }).click();
  await visitor.getByRole("heading", { name: "That did not work" }).waitFor();
  const refusal = await visitor.getByRole("alert").textContent();
  expect(refusal).toMatch(/Forge/u);
  expect(refusal).not.toMatch(/error|access_denied/iu);
  await visitor.getByRole("link", { name: "Back to the sign-in page" }).click();
  await visitor.getByRole("heading", { name: "Sign in to Keep" }).waitFor();
  await visitor.goto(`${stage.url}/auth/callback/general?state=long-ago&code=x`);
  await visitor.getByText("took too long").waitFor();
  await visitor.context().close();
  flows.push("refused and outdated");
});

test("sessions are told apart by browser and address, and ended one by one or all at once", async () => {
  const [one, ...rest] = [
    await stage.signIn(undefined, { userAgent: firefox }),
    await stage.signIn(undefined, { userAgent: firefox }),
    await stage.signIn(),
  ];
  await openAccount();
  const rows = page.getByRole("list", { name: "Where you are signed in" }).getByRole("listitem");
  await rows.nth(3).waitFor();
  const before = await rows.count();
  // The names of the providers come by a way of their own.
  await expect
    .poll(() => rows.first().textContent())
    .toMatch(/Chrome on LinuxThis oneFrom (?:127\.0\.0\.1|::1) with Example/u);
  await page
    .getByRole("button", { name: /^End Firefox on Linux/u })
    .first()
    .click();
  await page.getByText("is signed out at once").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "End", exact: true }).click();
  await page.getByText("The session has ended").waitFor();
  await expect.poll(() => rows.count()).toBe(before - 1);
  await page.getByRole("button", { name: "End all others" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End all others" }).click();
  await page.getByText("Every other session has ended").waitFor();
  await expect.poll(() => rows.count()).toBe(1);
  expect(await page.getByRole("button", { name: "End all others" }).count()).toBe(0);
  for (const other of [one, ...rest]) {
    await other?.goto(`${stage.url}/secrets`);
    await other?.waitForURL(/\/sign-in\?return_to=/u);
    await other?.context().close();
  }
  flows.push("end one session", "end all others");
});

test("a second provider is linked after a fresh sign-in, opens the same account, and is unlinked again", async () => {
  await openAccount();
  await page.getByText("The only way in").waitFor();
  expect(await page.getByRole("button", { name: /^Unlink/u }).count()).toBe(0);
  makeStale();
  await page.getByRole("button", { name: "Link Forge" }).click();
  await page.getByText("two accounts are never made one").waitFor();
  await page.getByRole("button", { name: "Continue at Forge" }).click();
  await signInAgain();
  await page.getByRole("button", { name: "Continue at Forge" }).click();
  await page.getByRole("textbox", { name: "Account" }).fill("second");
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByText("Forge is linked").waitFor();
  expect(page.url()).toBe(`${stage.url}/account`);
  const ways = page.getByRole("list", { name: "Ways to sign in" }).getByRole("listitem");
  expect(await ways.count()).toBe(2);
  expect(await ways.last().textContent()).toContain("second · second@example.com");
  const other = await stage.signIn({ at: "code-hosting", account: "second" });
  await other.getByRole("button", { name: "first@example.com" }).waitFor();
  await page.getByRole("button", { name: "Unlink Forge" }).click();
  await page.getByText("Nobody signs in here as second any more").waitFor();
  await page.getByRole("button", { name: "Unlink", exact: true }).click();
  await page.getByText("Forge is unlinked").waitFor();
  await expect.poll(() => ways.count()).toBe(1);
  await expect.poll(() => other.evaluate(async () => (await fetch("/api/session")).status)).toBe(401);
  await other.context().close();
  flows.push("link with a fresh sign-in", "unlink");
});

test("an identity with an account of its own is not linked, and the way back leads to the account", async () => {
  const stranger = await stage.signIn({ at: "code-hosting", account: "second" });
  await openAccount();
  await page.getByRole("button", { name: "Link Forge" }).click();
  await page.getByRole("button", { name: "Continue at Forge" }).click();
  await page.getByRole("textbox", { name: "Account" }).fill("second");
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByText("That identity has an account of its own").waitFor();
  await page.getByRole("link", { name: "Back to your account" }).click();
  await page.getByText("The only way in").waitFor();
  expect(await page.getByText("second", { exact: true }).count()).toBe(0);
  await stranger.context().close();
  flows.push("linking refused");
});

test("who cannot be answered is told so, and tries again", async () => {
  await page.route("**/api/account", (route) => route.abort());
  await page.goto(`${stage.url}/account`);
  await page.getByText("Keep cannot be reached").waitFor();
  expect(await page.getByRole("heading", { name: "Ways to sign in" }).count()).toBe(0);
  await page.unroute("**/api/account");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("The only way in").waitFor();
  flows.push("failed");
});

test("an account is deleted by its name and a fresh sign-in, after saying what goes with it in numbers", async () => {
  const [vault] = await stage.ask<{ id: string }[]>(page, "/api/secrets/vaults");
  await stage.ask(page, "/api/secrets/vaults", { method: "POST", body: { name: "Second" } });
  for (const name of ["A", "B", "C"]) {
    const at = `/api/secrets/vaults/${vault?.id}/secrets/by-path/${name}`;
    await stage.ask(page, at, { method: "PUT", body: { value: "x" } });
  }
  const token = { name: "t", scopes: ["secrets:read"] };
  await stage.ask(page, "/api/secrets/tokens", { method: "POST", body: token });
  await openAccount();
  await page.getByRole("button", { name: "Delete account…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete this account?" });
  const text = await dialog.textContent();
  for (const words of ["2 vaults", "3 secrets", "1 token: programs that use it", "cannot be undone"])
    expect(text).toContain(words);
  const name = dialog.getByLabel("Type first@example.com to confirm");
  await name.fill("First@example.com");
  await page.keyboard.press("Enter");
  await dialog.getByText("Type first@example.com to go on").waitFor();
  makeStale();
  await name.fill("first@example.com");
  await page.keyboard.press("Enter");
  await signInAgain();
  await page.getByRole("button", { name: "Delete account…" }).click();
  await name.fill("first@example.com");
  await dialog.getByRole("button", { name: "Delete account" }).click();
  await page.getByRole("heading", { name: "Sign in to Keep" }).waitFor();
  // The provider still knows the browser and sends it straight back, to a new account.
  await page.getByRole("button", { name: "Continue with Example" }).click();
  await page.getByRole("button", { name: "first@example.com" }).waitFor();
  const { holds } = await stage.ask<{ holds: object }>(page, "/api/account");
  expect(holds).toEqual({ vaults: 1, secrets: 0, tokens: 0 });
  flows.push("delete the account");
});

test("signing out ends the session of this browser", async () => {
  await page.goto(`${stage.url}/account`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Keep" }).waitFor();
  expect(await page.evaluate(async () => (await fetch("/api/session")).status)).toBe(401);
  flows.push("sign out");
});
