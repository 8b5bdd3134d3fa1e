import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type OpenedVault, startVaultFixture, type VaultFixture, widths } from "./vault-fixture.ts";

let fixture: VaultFixture;

beforeAll(async () => {
  fixture = await startVaultFixture();
});

afterEach(() => fixture.closePages());

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

const showValues = (page: Page) => page.getByRole("button", { name: "Show values" });
const hideValues = (page: Page) => page.getByRole("button", { name: "Hide values" });

/** The text of the value in a secret's row. */
async function valueOf(page: Page, name: string): Promise<string | null> {
  const row = page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
  return row.locator(".list-value").textContent();
}

/** Paths of the secrets whose values were read together, one list per record, oldest first. */
async function readsOf(opened: OpenedVault): Promise<readonly (readonly string[])[]> {
  type Body = { readonly type: string; readonly secrets?: readonly string[] };
  type Log = { readonly items: readonly { readonly body: Body }[] };
  type Listed = { readonly items: readonly { readonly id: string; readonly path: string }[] };
  const { items: records } = await fixture.request<Log>(opened, "/audit?type=values-read");
  const { items: secrets } = await fixture.request<Listed>(opened, "/secrets?recursive=true");
  const pathOf = (version: string) => secrets.find(({ id }) => version.startsWith(`${id}@`))?.path ?? version;
  return records.map(({ body: { secrets: read = [] } }) => read.map(pathOf)).toReversed();
}

async function findValues(page: Page): Promise<boolean> {
  return (await page.content()).includes("value of ");
}

test.for(widths)(
  "the values of the listed secrets are shown on request, each in one line, and recorded as read ($name)",
  async ({ viewport }) => {
    const opened = await fixture.open(["/A", "/with,comma", "/other/B"], { viewport });
    const { page } = opened;
    const write = (path: string, body: object) =>
      fixture.request(opened, `/secrets/by-path/${path}`, { method: "PUT", body });
    await write("EMPTY", { value: "" });
    await write("FILE", { value: "AP8=", type: "file", encoding: "base64" });
    await write("LINES", { value: `first\nsecond ${"long ".repeat(100)}end` });
    await page.reload();
    await showValues(page).waitFor();
    expect(await findValues(page)).toBe(false);
    await showValues(page).click();
    await hideValues(page).waitFor();
    expect(await valueOf(page, "A")).toBe("value of /A");
    expect(await valueOf(page, "with,comma")).toBe("value of /with,comma");
    expect(await valueOf(page, "EMPTY")).toBe("Empty");
    expect(await valueOf(page, "FILE")).toBe("File, 2 bytes");
    expect(await valueOf(page, "LINES")).toMatch(/^first↵second long .{1,200}…$/u);
    const heights = await page
      .locator(".list-row")
      .evaluateAll((rows) => rows.map((row) => row.clientHeight));
    expect(new Set(heights).size).toBe(1);
    await expect.poll(() => readsOf(opened)).toEqual([["/A", "/EMPTY", "/LINES", "/with,comma"]]);
  },
);

test("a search over folders shows the values of exactly what it found", async () => {
  const opened = await fixture.open(["/KEY", "/one/KEY", "/two/KEY", "/two/OTHER"]);
  const { page } = opened;
  await page.goto(`${page.url()}?q=key`);
  await showValues(page).click();
  await hideValues(page).waitFor();
  expect(await page.locator(".list-value").allTextContents()).toEqual([
    "value of /KEY",
    "value of /one/KEY",
    "value of /two/KEY",
  ]);
  await expect.poll(() => readsOf(opened)).toEqual([["/KEY", "/one/KEY", "/two/KEY"]]);
});

test("a long list is read in several requests", async () => {
  const paths = Array.from({ length: 120 }, (_, index) => `/KEY_${String(index).padStart(3, "0")}`);
  const opened = await fixture.open(paths);
  const { page } = opened;
  await page.getByRole("table").and(page.locator('[aria-rowcount="121"]')).waitFor();
  await showValues(page).click();
  await hideValues(page).waitFor();
  expect(await valueOf(page, "KEY_000")).toBe("value of /KEY_000");
  await page.getByRole("link", { name: "KEY_000", exact: true }).focus();
  await page.keyboard.press("End");
  await expect.poll(() => valueOf(page, "KEY_119")).toBe("value of /KEY_119");
  await expect.poll(async () => (await readsOf(opened)).map(({ length }) => length)).toEqual([100, 20]);
});

test("values are hidden again on Escape, in another folder, and when the tab is left", async () => {
  const { page } = await fixture.open(["/A", "/folder/B"]);
  const open = async () => {
    await showValues(page).click();
    await hideValues(page).waitFor();
    expect(await findValues(page)).toBe(true);
  };
  const expectHidden = async () => {
    await showValues(page).waitFor();
    expect(await findValues(page)).toBe(false);
    expect(await page.getByRole("columnheader", { name: "Value" }).count()).toBe(0);
  };
  await open();
  await page.keyboard.press("Escape");
  await expectHidden();
  await open();
  await page.getByRole("link", { name: "folder", exact: true }).click();
  await page.getByRole("link", { name: "B", exact: true }).waitFor();
  await expectHidden();
  await page.goBack();
  await page.getByRole("link", { name: "A", exact: true }).waitFor();
  await expectHidden();
  await open();
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await expectHidden();
});

test("values that arrive after Escape are not shown", async () => {
  const { page } = await fixture.open(["/A"]);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/values?*", async (route) => {
    await held;
    await route.continue();
  });
  const response = page.waitForResponse("**/values?*");
  await showValues(page).click();
  await page.getByRole("button", { name: "Loading values…" }).waitFor();
  await page.keyboard.press("Escape");
  release();
  await response;
  await showValues(page).waitFor();
  expect(await findValues(page)).toBe(false);
});

test("a secret that can no longer be read shows a dash, and one that has changed its old value no longer", async () => {
  const opened = await fixture.open(["/A", "/B", "/C"]);
  const { page } = opened;
  type Listed = { readonly items: readonly { readonly id: string; readonly name: string }[] };
  const { items } = await fixture.request<Listed>(opened, "/secrets");
  const id = items.find(({ name }) => name === "B")?.id ?? "";
  await fixture.request(opened, `/secrets/${id}`, { method: "DELETE" });
  await fixture.request(opened, "/secrets/by-path/C", { method: "PUT", body: { value: "new" } });
  await showValues(page).click();
  await hideValues(page).waitFor();
  expect(await valueOf(page, "A")).toBe("value of /A");
  expect(await valueOf(page, "B")).toBe("–Value not available");
  expect(await valueOf(page, "C")).toBe("••••••••Value hidden");
});

test("a failed read says so, and can be repeated", async () => {
  const { page } = await fixture.open(["/A"]);
  await page.route("**/values?*", (route) => route.abort());
  await showValues(page).click();
  await page.getByText("Cannot reach Keep").waitFor();
  expect(await showValues(page).count()).toBe(1);
  await page.unroute("**/values?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await hideValues(page).waitFor();
  expect(await valueOf(page, "A")).toBe("value of /A");
});

test("deleted secrets have no values to show", async () => {
  const { page } = await fixture.open(["/A"]);
  await showValues(page).waitFor();
  await page.goto(`${page.url()}?state=deleted`);
  await page.getByText("No deleted secrets").waitFor();
  expect(await showValues(page).count()).toBe(0);
});
