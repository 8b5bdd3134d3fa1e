import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  chooseAction,
  type OpenedVault,
  startVaultFixture,
  type VaultFixture,
  widths,
} from "./vault-fixture.ts";

let fixture: VaultFixture;

beforeAll(async () => {
  fixture = await startVaultFixture();
});

afterEach(() => fixture.closePages());

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

async function deleteRow({ page }: OpenedVault, name: string): Promise<void> {
  await chooseAction(page, `More actions for ${name}`, "Delete…");
  await page.getByRole("button", { name: /^Delete(?: folder)?$/u }).click();
  await waitUntilDeleted(page, name);
}

/** The rows behind an open dialog have no role, so its end is awaited first. */
async function waitUntilDeleted(page: Page, name: string): Promise<void> {
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("link", { name, exact: true }).waitFor({ state: "detached" });
}

const undo = (page: Page) => page.getByRole("status").getByRole("button", { name: "Undo" });

test.for(widths)("a deleted secret is restored by Undo ($name)", async ({ viewport }) => {
  const opened = await fixture.open(["/ONE", "/TWO"], { viewport });
  const { page } = opened;
  await deleteRow(opened, "ONE");
  expect(await fixture.paths(opened)).toEqual(["/TWO"]);
  await page.getByRole("status").getByText("Deleted ONE").waitFor();
  await undo(page).click();
  await page.getByText("ONE restored").waitFor();
  await page.getByRole("link", { name: "ONE", exact: true }).waitFor();
  expect(await fixture.paths(opened)).toEqual(["/ONE", "/TWO"]);
});

test.for(widths)("by keyboard, Undo is reached with Tab or runs on Ctrl+Z ($name)", async ({ viewport }) => {
  const opened = await fixture.open(["/ONE", "/TWO"], { viewport });
  const { page } = opened;
  const keys = new KeyboardWalk(page, { origin: fixture.console.url });
  await deleteByKeyboard(opened, keys, "ONE");
  await expect.poll(() => focusedText(page)).toBe("TWO");
  await keys.press(undo(page));
  await page.getByRole("link", { name: "ONE", exact: true }).waitFor();
  await expect.poll(() => focusedText(page)).not.toBe("");

  await deleteByKeyboard(opened, keys, "ONE");
  await page.keyboard.press("Control+z");
  await page.getByRole("link", { name: "ONE", exact: true }).waitFor();
  expect(await fixture.paths(opened)).toEqual(["/ONE", "/TWO"]);
});

async function deleteByKeyboard({ page }: OpenedVault, keys: KeyboardWalk, name: string): Promise<void> {
  await page.getByRole("link", { name, exact: true }).focus();
  await keys.press(page.getByRole("button", { name: `More actions for ${name}` }));
  const item = page.getByRole("menuitem", { name: "Delete…" });
  await item.waitFor();
  await expect
    .poll(async () => {
      await page.keyboard.press("End");
      return item.evaluate((element) => element === document.activeElement);
    })
    .toBe(true);
  await page.keyboard.press("Enter");
  await keys.press(page.getByRole("button", { name: "Delete", exact: true }));
  await waitUntilDeleted(page, name);
}

const focusedText = (page: Page): Promise<string> =>
  page.evaluate(() =>
    document.activeElement === document.body ? "" : (document.activeElement?.textContent ?? ""),
  );

test("the notice stays for 10 seconds, and while the pointer or the focus is on it", async () => {
  const opened = await fixture.open(["/ONE"]);
  const { page } = opened;
  await page.clock.install();
  await deleteRow(opened, "ONE");
  await undo(page).waitFor();
  await page.clock.runFor(10_000);
  expect(await undo(page).isVisible()).toBe(true);
  await undo(page).hover();
  await page.clock.runFor(60_000);
  expect(await undo(page).isVisible()).toBe(true);
  await undo(page).focus();
  await page.mouse.move(5, 5);
  await page.clock.runFor(60_000);
  expect(await undo(page).isVisible()).toBe(true);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.clock.runFor(13_000);
  await undo(page).waitFor({ state: "detached" });
});

test("a deleted folder is restored with its secrets and its empty folders", async () => {
  const opened = await fixture.open(["/prod/ONE", "/prod/api/TWO", "/OTHER"]);
  await fixture.request(opened, "/folders", { method: "POST", body: { path: "/prod/empty/inner" } });
  const { page } = opened;
  await page.reload();
  await deleteRow(opened, "prod");
  await page.getByText("Deleted folder prod with 2 secrets").waitFor();
  expect(await fixture.paths(opened)).toEqual(["/OTHER"]);
  await undo(page).click();
  await page.getByText("2 secrets restored").waitFor();
  await page.getByRole("link", { name: "prod", exact: true }).waitFor();
  expect(await fixture.paths(opened)).toEqual(["/OTHER", "/prod/ONE", "/prod/api/TWO"]);
  type Folders = { readonly items: readonly { readonly path: string }[] };
  const { items } = await fixture.request<Folders>(opened, "/folders?recursive=true");
  expect(items.map(({ path }) => path)).toEqual(["/prod", "/prod/api", "/prod/empty", "/prod/empty/inner"]);
});

test("a folder with too many secrets for Undo leads to those that can be restored", async () => {
  const paths = Array.from({ length: 200 }, (_, index) => `/prod/KEY_${index}`);
  const opened = await fixture.open(paths);
  await fixture.request(opened, "/secrets/by-path/prod/ONE_MORE", { method: "PUT", body: { value: "1" } });
  const { page } = opened;
  await page.reload();
  await deleteRow(opened, "prod");
  await page.getByText("Deleted folder prod with 201 secrets").waitFor();
  expect(await undo(page).count()).toBe(0);
  await page.getByRole("button", { name: "Show deleted" }).click();
  await page.getByRole("link", { name: "/prod/KEY_0", exact: true }).waitFor();
});

test("Undo says which secret it could not restore, and why; the others are restored", async () => {
  const opened = await fixture.open(["/prod/ONE", "/prod/TWO"]);
  const { page } = opened;
  await deleteRow(opened, "prod");
  await fixture.request(opened, "/secrets/by-path/prod/ONE", {
    method: "PUT",
    body: { value: "in its place" },
  });
  await undo(page).click();
  await page.getByText(/Not restored: \/prod\/ONE: .*already/u).waitFor();
  expect(await fixture.paths(opened)).toEqual(["/prod/ONE", "/prod/TWO"]);
});

test("Undo restores from another screen, and the list shows it on the return", async () => {
  const opened = await fixture.open(["/ONE"]);
  const { page } = opened;
  await deleteRow(opened, "ONE");
  await page.getByRole("link", { name: "Tokens" }).click();
  await page.getByRole("link", { name: "New token" }).waitFor();
  await page.goBack();
  await page.getByText("No secrets yet").waitFor();
  await undo(page).click();
  await page.getByRole("link", { name: "ONE", exact: true }).waitFor();
  expect(await fixture.paths(opened)).toEqual(["/ONE"]);
});
