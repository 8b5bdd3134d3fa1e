import { recordFigure } from "@hearth-and-keep/figures";
import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";

let fixture: ConsoleFixture;
let page: Page;
let keys: KeyboardWalk;
const flows: string[] = [];
const shortTimeout = { timeout: 5000 };

beforeAll(async () => {
  fixture = await startConsoleFixture();
  page = await fixture.browser.openPage(`${fixture.url}/sign-in`);
  page.setDefaultTimeout(20_000);
  keys = new KeyboardWalk(page, { origin: fixture.url });
  await page.addInitScript("localStorage.setItem('first-steps', 'offered')");
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "console 3",
      text: `by keyboard alone: ${flows.join(", ")}; the focus was visible at each of ${keys.stops} stops`,
      counted: { reached: flows.length, needed: 8 },
    });
});

async function type(target: Locator, text: string): Promise<void> {
  await keys.tabTo(target);
  await page.keyboard.type(text);
}

const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });

/** `BODY` when the focused element was removed and nothing has the focus. */
const focused = (): Promise<string | undefined> => page.evaluate(() => document.activeElement?.tagName);

test("sign in", async () => {
  await keys.leaveBy(button("Continue with Example"));
  await type(page.getByLabel("Account"), "first@example.com");
  await keys.press(button("Sign in"));
  await keys.press(button("Allow"));
  await page.getByText("No secrets yet").waitFor();
  expect(page.url()).toMatch(/\/secrets\/[0-9a-f-]{36}$/u);
  flows.push("sign in");
});

test("create a secret", async () => {
  await keys.press(button("New secret").first());
  await type(page.getByRole("textbox", { name: "Name", exact: true }), "KEY");
  await type(page.getByRole("textbox", { name: "Value" }), "typed by hand");
  await keys.press(button("Save"));
  await page.getByRole("link", { name: "KEY", exact: true }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused, shortTimeout).not.toBe("BODY");
  flows.push("create a secret");
});

test("reveal it", async () => {
  await keys.press(page.getByRole("link", { name: "KEY", exact: true }));
  await keys.press(button("Reveal"));
  await page.getByText("typed by hand").waitFor();
  await expect.poll(focused, shortTimeout).not.toBe("BODY");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused, shortTimeout).not.toBe("BODY");
  flows.push("reveal it");
});

test("create a token", async () => {
  await keys.press(page.getByRole("link", { name: "Tokens" }));
  await keys.press(page.getByRole("link", { name: "New token" }));
  await type(page.getByLabel("Name", { exact: true }), "by hand");
  await keys.press(button("Create token"));
  await keys.press(button("Done"));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused, shortTimeout).not.toBe("BODY");
  flows.push("create a token");
});

test("revoke it", async () => {
  await keys.press(button("More actions for by hand"));
  // A menu that has just opened may not handle keys yet.
  const revoke = page.getByRole("menuitem", { name: "Revoke" });
  await expect
    .poll(async () => {
      await page.keyboard.press("End");
      return revoke.evaluate((item) => item === document.activeElement);
    }, shortTimeout)
    .toBe(true);
  await page.keyboard.press("Enter");
  await keys.press(button("Revoke"));
  await page.getByText("Revoked on all servers").waitFor();
  await keys.press(page.getByRole("dialog").getByRole("button", { name: "Close" }));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused, shortTimeout).not.toBe("BODY");
  flows.push("revoke it");
});

test("verify the log", async () => {
  await keys.press(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Audit" }));
  await keys.press(button("Verify"));
  await page.getByText("Log verified").waitFor();
  await expect.poll(focused, shortTimeout).not.toBe("BODY");
  flows.push("verify the log");
});

test("link an identity", async () => {
  await keys.press(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Account" }));
  await keys.press(button("Link Forge"));
  await keys.leaveBy(button("Continue to Forge"));
  await type(page.getByLabel("Account"), "second");
  await keys.press(button("Authorize"));
  await page.getByText("Forge linked").waitFor();
  expect(page.url()).toBe(`${fixture.url}/account`);
  flows.push("link an identity");
});

test("sign out", async () => {
  await keys.press(page.getByRole("banner").getByRole("button").last());
  await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${fixture.url}/sign-in`);
  await button("Continue with Example").waitFor();
  expect((await page.request.get(`${fixture.url}/api/session`)).status()).toBe(401);
  flows.push("sign out");
});
