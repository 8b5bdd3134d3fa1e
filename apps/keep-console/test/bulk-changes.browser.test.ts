import { readFile } from "node:fs/promises";
import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createOrganisation, createSharedVault } from "./team-fixture.ts";
import { type OpenedVault, startVaultFixture, type VaultFixture, widths } from "./vault-fixture.ts";

let fixture: VaultFixture;

beforeAll(async () => {
  fixture = await startVaultFixture();
});

afterEach(() => fixture.closePages());

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

const box = (page: Page, name: string): Locator =>
  page.getByRole("checkbox", { name: `Select ${name}`, exact: true });
const bar = (page: Page): Locator => page.getByRole("region", { name: "Selection" });
const barButton = (page: Page, name: string): Locator => bar(page).getByRole("button", { name, exact: true });

async function confirm(page: Page, action: string): Promise<void> {
  await page.getByRole("dialog").getByRole("button", { name: action, exact: true }).click();
}

async function tagsOf(opened: OpenedVault): Promise<Readonly<Record<string, readonly string[]>>> {
  type Listed = { readonly items: readonly { readonly path: string; readonly tags: readonly string[] }[] };
  const { items } = await fixture.request<Listed>(opened, "/secrets?recursive=true");
  return Object.fromEntries(items.map(({ path, tags }) => [path, tags]));
}

test.for(widths)(
  "a range of rows is deleted at once, and Undo restores all ($name)",
  async ({ viewport }) => {
    const opened = await fixture.open(["/A", "/B", "/C", "/D", "/prod/E"], { viewport });
    const { page } = opened;
    await box(page, "prod").check();
    await box(page, "C").click({ modifiers: ["Shift"] });
    await bar(page).getByText("4 selected").waitFor();
    await barButton(page, "Delete…").click();
    await page.getByRole("dialog", { name: "Delete 1 folder and 3 secrets?" }).waitFor();
    await confirm(page, "Delete");
    await page.getByText("Deleted 1 folder and 3 secrets").waitFor();
    expect(await fixture.paths(opened)).toEqual(["/D"]);
    await expect.poll(() => page.getByRole("link", { name: "prod", exact: true }).count()).toBe(0);
    expect(await barButton(page, "Delete…").count()).toBe(0);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("4 secrets restored").waitFor();
    expect(await fixture.paths(opened)).toEqual(["/A", "/B", "/C", "/D", "/prod/E"]);
  },
);

test.for(widths)(
  "rows are selected by keyboard, and Escape clears the selection ($name)",
  async ({ viewport }) => {
    const { page } = await fixture.open(["/A", "/B", "/C", "/D"], { viewport });
    const keys = new KeyboardWalk(page, { origin: fixture.console.url });
    await keys.press(box(page, "A"), "Space");
    await bar(page).getByText("1 selected").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Shift+Space");
    await bar(page).getByText("3 selected").waitFor();
    expect(await box(page, "B").isChecked()).toBe(true);
    await page.keyboard.press("Escape");
    await bar(page).waitFor({ state: "attached" });
    expect(await page.getByRole("checkbox", { checked: true }).count()).toBe(0);

    await keys.press(page.getByRole("checkbox", { name: "Select all loaded rows" }), "Space");
    await bar(page).getByText("4 selected").waitFor();
    await keys.press(barButton(page, "Clear selection"));
    await expect.poll(() => page.getByRole("checkbox", { checked: true }).count()).toBe(0);
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("A");
  },
);

test("secrets and folders move together, with the empty folders in them", async () => {
  const opened = await fixture.open(["/A", "/B", "/api/KEY", "/api/v1/KEY"]);
  await fixture.request(opened, "/folders", { method: "POST", body: { path: "/api/empty" } });
  const { page } = opened;
  await box(page, "A").check();
  await box(page, "api").check();
  await barButton(page, "Move…").click();
  await page.getByLabel("Folder", { exact: true }).fill("/prod");
  await confirm(page, "Move");
  await page.getByText("Moved 1 folder and 1 secret to /prod").waitFor();
  expect(await fixture.paths(opened)).toEqual(["/B", "/prod/A", "/prod/api/KEY", "/prod/api/v1/KEY"]);
  type Folders = { readonly items: readonly { readonly path: string }[] };
  const { items } = await fixture.request<Folders>(opened, "/folders?recursive=true");
  expect(items.map(({ path }) => path)).toEqual(["/prod", "/prod/api", "/prod/api/empty", "/prod/api/v1"]);
});

test("a move of which one secret fails changes none, and says which and why", async () => {
  const opened = await fixture.open(["/A", "/B", "/prod/B"]);
  const { page } = opened;
  await box(page, "A").check();
  await box(page, "B").check();
  await barButton(page, "Move…").click();
  await page.getByLabel("Folder", { exact: true }).fill("/prod");
  await confirm(page, "Move");
  await page.getByRole("alert").getByText("/prod/B").waitFor();
  expect(await fixture.paths(opened)).toEqual(["/A", "/B", "/prod/B"]);
  await page.getByLabel("Folder", { exact: true }).fill("/other");
  await confirm(page, "Move");
  await page.getByText("Moved 2 secrets to /other").waitFor();
  expect(await fixture.paths(opened)).toEqual(["/other/A", "/other/B", "/prod/B"]);
});

test("a deletion is refused when one of the secrets has changed since it was listed", async () => {
  const opened = await fixture.open(["/A", "/B"]);
  const { page } = opened;
  await page.getByRole("checkbox", { name: "Select all loaded rows" }).check();
  await fixture.request(opened, "/secrets/by-path/B", { method: "PUT", body: { value: "new" } });
  await barButton(page, "Delete…").click();
  await confirm(page, "Delete");
  await page.getByRole("alert").getByText("Nothing was changed. /B: the resource has changed").waitFor();
  expect(await fixture.paths(opened)).toEqual(["/A", "/B"]);
});

test("a tag is added to all selected secrets and removed again; a failure names its secret", async () => {
  const opened = await fixture.open(["/A", "/B", "/C"]);
  await fixture.request(opened, "/secrets/by-path/A", { method: "PATCH", body: { tags: ["old"] } });
  const { page } = opened;
  await page.reload();
  await page.getByRole("checkbox", { name: "Select all loaded rows" }).check();
  await barButton(page, "Add tag…").click();
  await page.getByRole("textbox", { name: "Tag" }).fill("prod");
  await confirm(page, "Add tag");
  await page.getByText("Added tag prod to 3 secrets").waitFor();
  expect(await tagsOf(opened)).toEqual({ "/A": ["old", "prod"], "/B": ["prod"], "/C": ["prod"] });
  await page.getByRole("button", { name: "Filter by tag prod" }).nth(2).waitFor();
  await box(page, "C").uncheck();
  await fixture.request(opened, "/secrets/by-path/B", { method: "PUT", body: { value: "new" } });
  await barButton(page, "Remove tag…").click();
  await page.getByRole("dialog").getByLabel("Tag").selectOption("prod");
  await confirm(page, "Remove tag");
  const failed = page.getByRole("list", { name: "Failed" }).getByRole("listitem");
  await failed.getByText("/B").waitFor();
  expect(await failed.count()).toBe(1);
  expect(await tagsOf(opened)).toEqual({ "/A": ["old"], "/B": ["prod"], "/C": ["prod"] });
});

test("only the selected secrets are exported", async () => {
  const { page } = await fixture.open(["/prod/A", "/prod/B", "/prod/C"]);
  await page.getByRole("link", { name: "prod", exact: true }).click();
  await box(page, "A").check();
  await box(page, "C").check();
  await barButton(page, "Export…").click();
  await page.getByText("2 secrets in /prod").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), confirm(page, "Export")]);
  expect(await readFile(await download.path(), "utf8")).toMatch(/^A=.*\nC=.*\n$/u);
});

test("deleted secrets are restored together", async () => {
  const opened = await fixture.open(["/A", "/B"]);
  const operations = ["/A", "/B"].map((path) => ({ op: "delete", path }));
  await fixture.request(opened, "/batch", { method: "POST", body: { operations } });
  const { page } = opened;
  await page.goto(`${page.url()}?state=deleted`);
  await page.getByRole("checkbox", { name: "Select all loaded rows" }).check();
  await barButton(page, "Restore…").click();
  await confirm(page, "Restore");
  await page.getByText("Restored 2 secrets").waitFor();
  expect(await fixture.paths(opened)).toEqual(["/A", "/B"]);
});

test("at protected paths, the whole change is proposed instead", async () => {
  const keep = fixture.console;
  const { page } = await fixture.open([]);
  const organisation = await createOrganisation(keep, page, "Acme");
  const secrets = { "prod/A": "a", "prod/B": "b", "dev/A": "a" };
  const vault = await createSharedVault(keep, { organisation, owner: page, name: "Shop", secrets });
  const body = { protected_paths: ["/prod/**"] };
  await keep.request(page, `/api/secrets/vaults/${vault}`, { method: "PATCH", body });
  await page.goto(`${keep.url}/secrets/${vault}`);
  await box(page, "prod").check();
  await box(page, "dev").check();
  await barButton(page, "Delete…").click();
  await confirm(page, "Delete");
  const form = page.getByRole("form", { name: "Propose change" });
  const lines = form.getByRole("list", { name: "Change" }).getByRole("listitem");
  await lines.nth(2).waitFor();
  expect(await lines.allTextContents()).toEqual(["Delete /dev/A", "Delete /prod/A", "Delete /prod/B"]);
  await form.getByLabel("Reason").fill("No longer used");
  await form.getByRole("button", { name: "Propose change" }).click();
  await page.getByText("Change proposed.").waitFor();
  expect(await fixture.paths({ page, vault })).toEqual(["/dev/A", "/prod/A", "/prod/B"]);
});
