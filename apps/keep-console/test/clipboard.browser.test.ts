import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";

let fixture: ConsoleFixture;
let page: Page;

beforeAll(async () => {
  fixture = await startConsoleFixture();
  page = await fixture.signIn();
  page.setDefaultTimeout(15_000);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: fixture.url });
  const body = { name: "Copied" };
  const { id } = await fixture.request<{ id: string }>(page, "/api/secrets/vaults", { method: "POST", body });
  await fixture.request(page, `/api/secrets/vaults/${id}/secrets/by-path/KEY`, {
    method: "PUT",
    body: { value: "copied-value" },
  });
  await page.goto(`${fixture.url}/secrets/${id}`);
  await page.getByRole("link", { name: "KEY", exact: true }).waitFor();
  await page.clock.install();
});
afterAll(() => fixture?.[Symbol.asyncDispose]());

const readClipboard = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());

async function copyFromMenu(): Promise<void> {
  await page.getByRole("button", { name: "More actions for KEY" }).click();
  await page.getByRole("menuitem", { name: "Copy value" }).click();
  await expect.poll(readClipboard).toBe("copied-value");
}

async function copyFromPanel(): Promise<void> {
  await page.getByRole("link", { name: "KEY", exact: true }).click();
  await page.getByRole("button", { name: "Copy value of KEY" }).click();
  await expect.poll(readClipboard).toBe("copied-value");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

test.each([
  { name: "the menu", copy: copyFromMenu },
  { name: "the panel", copy: copyFromPanel },
])(
  "a value copied from $name is cleared from the clipboard after 30 seconds, and not before",
  async ({ copy }) => {
    await copy();
    await page.clock.runFor(25_000);
    expect(await readClipboard()).toBe("copied-value");
    await page.clock.runFor(6000);
    await expect.poll(readClipboard).toBe("");
  },
);

test("what was copied after the value stays on the clipboard", async () => {
  await copyFromMenu();
  await page.evaluate(() => navigator.clipboard.writeText("something else"));
  await page.clock.runFor(31_000);
  // Clearing takes a few turns of the event loop.
  await page.waitForTimeout(500);
  expect(await readClipboard()).toBe("something else");
});

test("a value that was copied before leaving the page is cleared on return", async () => {
  await copyFromMenu();
  await page.evaluate(() => {
    document.hasFocus = () => false;
    window.dispatchEvent(new Event("blur"));
  });
  await page.clock.runFor(31_000);
  expect(await readClipboard()).toBe("copied-value");
  await page.evaluate(() => {
    document.hasFocus = () => true;
    window.dispatchEvent(new Event("focus"));
  });
  await expect.poll(readClipboard).toBe("");
});
