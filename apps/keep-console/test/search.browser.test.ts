import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createOrganisation, createSharedVault } from "./team-fixture.ts";
import { startVaultFixture, type VaultFixture, widths } from "./vault-fixture.ts";

let fixture: VaultFixture;
let sharedVault: string;

beforeAll(async () => {
  fixture = await startVaultFixture();
  const { page: owner } = await fixture.open([]);
  const organisation = await createOrganisation(fixture.console, owner, "Acme");
  const secrets = { "prod/api/LEDGER_URL": "https://ledger.internal" };
  sharedVault = await createSharedVault(fixture.console, { organisation, owner, name: "Payments", secrets });
});

afterEach(() => fixture.closePages());

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

const dialog = (page: Page) => page.getByRole("dialog", { name: "Search all vaults" });
const results = (page: Page) => dialog(page).getByRole("list", { name: "Results" }).getByRole("link");
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent);

test.for(widths)(
  "by keyboard, a person finds a secret of another vault and opens it ($name)",
  async ({ viewport }) => {
    const { page } = await fixture.open(["/prod/LEDGER_KEY", "/prod/OTHER_KEY"], { viewport });
    await page.goto(`${fixture.console.url}/account`);
    await page.getByRole("heading", { name: "Account", exact: true }).waitFor();
    const menu = page.getByRole("banner").getByRole("button").last();
    const { x = 0, width = 0 } = (await menu.boundingBox()) ?? {};
    expect(x + width).toBeLessThanOrEqual(viewport.width);
    await page.keyboard.press("Control+k");
    await dialog(page).getByRole("searchbox").waitFor();
    await page.keyboard.type("ledger prod");
    const shared = results(page).filter({ hasText: "Acme · Payments" });
    await shared.waitFor();
    expect(await results(page).filter({ hasText: "OTHER_KEY" }).count()).toBe(0);
    expect(await shared.textContent()).toContain("/prod/api/LEDGER_URL");
    expect(await dialog(page).textContent()).not.toContain("ledger.internal");
    for (let presses = 0; presses < 20; presses += 1) {
      if ((await focused(page))?.includes("Payments") === true) break;
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "LEDGER_URL" }).getByRole("button", { name: "Reveal" }).waitFor();
    expect(page.url()).toContain(`/secrets/${sharedVault}?folder=%2Fprod%2Fapi`);
    await expect.poll(() => dialog(page).count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "LEDGER_URL", exact: true }).waitFor();
  },
);

test("Enter opens the first result, and Escape returns to where one was", async () => {
  const name = `ONLY_${crypto.randomUUID().slice(0, 8)}`;
  const { page, vault } = await fixture.open([`/a/${name}`]);
  const keys = new KeyboardWalk(page, { origin: fixture.console.url });
  const button = page.getByRole("button", { name: "Search all vaults" });
  await keys.press(button);
  await dialog(page).getByRole("searchbox").waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press("Enter");
  await page.keyboard.type(name.toLowerCase());
  await results(page).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name }).getByRole("button", { name: "Reveal" }).waitFor();
  expect(page.url()).toContain(`/secrets/${vault}?folder=%2Fa`);
  expect(await dialog(page).count()).toBe(0);
});

test("a search that Keep rejects says why, and one without results says so", async () => {
  const { page } = await fixture.open([]);
  await page.getByRole("button", { name: "Search all vaults" }).click();
  const field = dialog(page).getByRole("searchbox");
  await field.fill("a b c d e f g h i j k");
  await dialog(page).getByText("at most 10 different words").waitFor();
  await field.fill("nothing-like-it");
  await dialog(page).getByText("No results").waitFor();
  await field.fill("LEDGER_URL");
  await results(page).filter({ hasText: "Payments" }).waitFor();
  await field.fill("");
  await expect.poll(() => results(page).count()).toBe(0);
});

test("the shortcut does nothing while another dialog is open, whose text would be lost", async () => {
  const { page } = await fixture.open([]);
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("textbox", { name: "Value" }).fill("unsaved");
  await page.getByRole("button", { name: "Save" }).focus();
  await page.keyboard.press("Control+k");
  await page.getByRole("textbox", { name: "Value" }).waitFor();
  expect(await dialog(page).count()).toBe(0);
  expect(await page.getByRole("textbox", { name: "Value" }).inputValue()).toBe("unsaved");
});
