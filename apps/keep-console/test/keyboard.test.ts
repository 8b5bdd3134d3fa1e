import { recordFigure } from "@hearth-and-keep/figures";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleStage, startConsoleStage } from "./console-stage.ts";

let stage: ConsoleStage;
let page: Page;
const flows: string[] = [];
let stops = 0;
const mostPresses = 80;
const patience = { timeout: 5000 };

beforeAll(async () => {
  stage = await startConsoleStage();
  page = await stage.browser.openPage(`${stage.url}/sign-in`);
  page.setDefaultTimeout(20_000);
  await page.addInitScript("localStorage.setItem('first-steps', 'offered')");
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "console 3",
      text: `by keyboard alone: ${flows.join(", ")}; the focus was to be seen at each of ${stops} stops`,
      counted: { reached: flows.length, needed: 8 },
    });
});

/** From where the focus is, by the Tab key; fails when it does not come there. */
async function tabTo(target: Locator): Promise<void> {
  await target.waitFor();
  for (let presses = 0; presses < mostPresses; presses += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
    await expectFocusSeen();
  }
  throw new Error(`Cannot come to ${String(target)} by ${mostPresses} presses of Tab`);
}

/** Whatever has the focus has a line around it; behind the last thing is the browser. */
async function expectFocusSeen(): Promise<void> {
  if (!page.url().startsWith(stage.url)) return;
  const found = await page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return "";
    const isGuard = element.hasAttribute("data-base-ui-focus-guard");
    // A row of a list draws the line around all of itself.
    const isSeen = [undefined, "::after"].some((part) => {
      const { outlineStyle, outlineWidth, content } = getComputedStyle(element, part);
      const isDrawn = part === undefined || content !== "none";
      return isDrawn && outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
    });
    return isSeen || isGuard ? "" : element.outerHTML.slice(0, 160);
  });
  expect(found).toBe("");
  stops += 1;
}

async function press(target: Locator, key = "Enter"): Promise<void> {
  await tabTo(target);
  await page.keyboard.press(key);
}

async function type(target: Locator, text: string): Promise<void> {
  await tabTo(target);
  await page.keyboard.type(text);
}

const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });

/** `BODY` when something closed or the place changed and nothing has the focus any more. */
const focused = (): Promise<string | undefined> => page.evaluate(() => document.activeElement?.tagName);

test("sign in", async () => {
  await press(button("Continue with Example"));
  await type(page.getByLabel("Account"), "first@example.com");
  await press(button("Sign in"));
  await press(button("Allow"));
  await page.getByText("No secrets yet").waitFor();
  expect(page.url()).toMatch(/\/secrets\/[0-9a-f-]{36}$/u);
  flows.push("sign in");
});

test("create a secret", async () => {
  await press(button("New secret").first());
  await type(page.getByRole("textbox", { name: "Name", exact: true }), "KEY");
  await type(page.getByRole("textbox", { name: "Value" }), "typed by hand");
  await press(button("Save"));
  await page.getByRole("link", { name: "KEY", exact: true }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused, patience).not.toBe("BODY");
  flows.push("create a secret");
});

test("reveal it", async () => {
  await press(page.getByRole("link", { name: "KEY", exact: true }));
  await press(button("Reveal"));
  await page.getByText("typed by hand").waitFor();
  await expect.poll(focused, patience).not.toBe("BODY");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused, patience).not.toBe("BODY");
  flows.push("reveal it");
});

test("create a token", async () => {
  await press(page.getByRole("link", { name: "Tokens" }));
  await press(page.getByRole("link", { name: "New token" }));
  await type(page.getByLabel("Name", { exact: true }), "by hand");
  await press(button("Make token"));
  await press(button("I have stored it"));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused, patience).not.toBe("BODY");
  flows.push("create a token");
});

test("revoke it", async () => {
  await press(button("More for by hand"));
  // A menu that has just appeared may not listen yet.
  const revoke = page.getByRole("menuitem", { name: "Revoke" });
  await expect
    .poll(async () => {
      await page.keyboard.press("End");
      return revoke.evaluate((item) => item === document.activeElement);
    }, patience)
    .toBe(true);
  await page.keyboard.press("Enter");
  await press(button("Revoke"));
  await page.getByText("Revoked everywhere").waitFor();
  await press(page.getByRole("dialog").getByRole("button", { name: "Close" }));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(focused, patience).not.toBe("BODY");
  flows.push("revoke it");
});

test("verify the log", async () => {
  await press(page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Audit" }));
  await press(button("Verify"));
  await page.getByText("The log is whole").waitFor();
  await expect.poll(focused, patience).not.toBe("BODY");
  flows.push("verify the log");
});

test("link an identity", async () => {
  await press(page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Account" }));
  await press(button("Link Forge"));
  await press(button("Continue at Forge"));
  await type(page.getByLabel("Account"), "second");
  await press(button("Authorize"));
  await page.getByText("Forge is linked").waitFor();
  expect(page.url()).toBe(`${stage.url}/account`);
  flows.push("link an identity");
});

test("sign out", async () => {
  await press(page.getByRole("banner").getByRole("button"));
  await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${stage.url}/sign-in`);
  await button("Continue with Example").waitFor();
  expect((await page.request.get(`${stage.url}/api/session`)).status()).toBe(401);
  flows.push("sign out");
});
