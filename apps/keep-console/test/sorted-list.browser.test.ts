import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startVaultFixture, type VaultFixture, widths } from "./vault-fixture.ts";

let fixture: VaultFixture;

beforeAll(async () => {
  fixture = await startVaultFixture();
});

afterEach(() => fixture.closePages());

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

/** The vault's secrets in order of creation are B, C, A; A has changed first and B last. */
async function openSorted(viewport: { readonly width: number; readonly height: number }): Promise<Page> {
  const opened = await fixture.open([], { viewport });
  const write = (path: string) =>
    fixture.request(opened, `/secrets/by-path/${path}`, { method: "PUT", body: { value: "x" } });
  for (const path of ["B", "C", "A", "C", "B", "first/KEY", "second/KEY"]) await write(path);
  await opened.page.reload();
  await opened.page.getByRole("link", { name: "A", exact: true }).waitFor();
  return opened.page;
}

const names = (page: Page): Promise<readonly string[]> =>
  page.getByRole("row").getByRole("link").allTextContents();

const header = (page: Page, name: string) => page.getByRole("columnheader", { name });

test.for(widths)(
  "a press on a column's header sorts by it, and a second one reverses ($name)",
  async ({ viewport }) => {
    const page = await openSorted(viewport);
    const keys = new KeyboardWalk(page, { origin: fixture.console.url });
    expect(await names(page)).toEqual(["first", "second", "A", "B", "C"]);
    expect(await header(page, "Name").getAttribute("aria-sort")).toBe("ascending");
    expect(await header(page, "Updated").getAttribute("aria-sort")).toBe(null);
    await header(page, "Name").getByRole("button").click();
    await expect.poll(() => names(page)).toEqual(["second", "first", "C", "B", "A"]);
    expect(await header(page, "Name").getAttribute("aria-sort")).toBe("descending");
    await keys.press(header(page, "Updated").getByRole("button"));
    await expect.poll(() => names(page)).toEqual(["first", "second", "B", "C", "A"]);
    expect(await header(page, "Updated").getAttribute("aria-sort")).toBe("descending");
    await keys.press(header(page, "Updated").getByRole("button"));
    await expect.poll(() => names(page)).toEqual(["first", "second", "A", "C", "B"]);
  },
);

test.for(widths)(
  "the order is in the URL, and stays in folders and over a reload ($name)",
  async ({ viewport }) => {
    const page = await openSorted(viewport);
    await page.getByLabel("Sort").selectOption("Newest first");
    await expect.poll(() => names(page)).toEqual(["first", "second", "A", "C", "B"]);
    expect(new URL(page.url()).searchParams.get("sort")).toBe("-created");
    await page.reload();
    await expect.poll(() => names(page)).toEqual(["first", "second", "A", "C", "B"]);
    await page.getByRole("link", { name: "first", exact: true }).click();
    await page.getByRole("link", { name: "KEY", exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get("sort")).toBe("-created");
    await page.getByRole("link", { name: "All secrets" }).click();
    await page.getByLabel("Sort").selectOption("Name, A to Z");
    await expect.poll(() => names(page)).toEqual(["first", "second", "A", "B", "C"]);
    expect(new URL(page.url()).searchParams.has("sort")).toBe(false);
  },
);

test("a long list is sorted over all its pages", async () => {
  const paths = Array.from({ length: 150 }, (_, index) => `/KEY_${String(index).padStart(3, "0")}`);
  const opened = await fixture.open(paths);
  const { page } = opened;
  await fixture.request(opened, "/secrets/by-path/KEY_149", { method: "PUT", body: { value: "new" } });
  await page.goto(`${page.url()}?sort=-updated`);
  await page.getByRole("link", { name: "KEY_149", exact: true }).waitFor();
  expect((await names(page))[0]).toBe("KEY_149");
  await page.goto(page.url().replace("-updated", "-name"));
  await page.getByRole("link", { name: "KEY_149", exact: true }).waitFor();
  await page.getByRole("link", { name: "KEY_149", exact: true }).focus();
  await page.keyboard.press("End");
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).not.toBe("KEY_149");
  await page.getByRole("table").and(page.locator('[aria-rowcount="151"]')).waitFor();
  await page.keyboard.press("End");
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("KEY_000");
});
