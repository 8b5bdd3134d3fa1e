import { recordFigure } from "@hearth-and-keep/figures";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, firstAccount, startConsoleFixture } from "./console-fixture.ts";

let fixture: ConsoleFixture;
/** One session for all tests but those that sign in themselves: a sign-in takes longer than most of them. */
let signedIn: BrowserContextOptions;
let flows = 0;
const pages = new Set<Page>();

beforeAll(async () => {
  fixture = await startConsoleFixture();
  const page = await fixture.signIn();
  signedIn = { storageState: await page.context().storageState() };
  await page.context().close();
});

afterEach(async () => {
  for (const page of pages) await page.context().close();
  pages.clear();
});

afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

/** Opens a page on a new vault with the given secrets. */
async function openVault(
  secrets: Readonly<Record<string, object>> = {},
  signIn: () => Promise<Page> = () => fixture.browser.openPage(`${fixture.url}/secrets`, signedIn),
): Promise<{ page: Page; at: string }> {
  const page = await signIn();
  pages.add(page);
  page.setDefaultTimeout(15_000);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const body = { name: `Vault ${crypto.randomUUID().slice(0, 8)}` };
  const { id } = await fixture.request<{ id: string }>(page, "/api/secrets/vaults", { method: "POST", body });
  for (const [path, secret] of Object.entries(secrets)) await write({ page, at: id }, path, secret);
  await page.goto(`${fixture.url}/secrets/${id}`);
  await page.getByRole("button", { name: "New secret" }).waitFor();
  return { page, at: id };
}

type Opened = { readonly page: Page; readonly at: string };

function write({ page, at }: Opened, path: string, body: object): Promise<unknown> {
  return fixture.request(page, `/api/secrets/vaults/${at}/secrets/by-path/${path}`, { method: "PUT", body });
}

async function valueAt({ page, at }: Opened, path: string): Promise<string> {
  const found = await fixture.request<{ value: string }>(
    page,
    `/api/secrets/vaults/${at}/values/by-path/${path}`,
  );
  return found.value;
}

async function open({ page }: Opened, name: string): Promise<void> {
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("button", { name: "Reveal" }).first().waitFor();
}

const choose = async (page: Page, menu: string, item: string): Promise<void> => {
  await page.getByRole("button", { name: menu, exact: true }).click();
  await page.getByRole("menuitem", { name: item }).click();
};

test("the first screen is the empty personal vault with a hint", async () => {
  const page = await fixture.signIn();
  await page.goto(`${fixture.url}/secrets`);
  await page.getByRole("button", { name: "Vault Personal" }).waitFor();
  await page.getByText("No secrets yet").waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/secrets\/[0-9a-f-]{36}$/u);
  flows += 1;
});

test("a secret is created by keyboard alone, revealed, copied and hidden again", async () => {
  const opened = await openVault();
  const { page } = opened;
  await page.getByText("No secrets yet").waitFor();
  await page.keyboard.press("n");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("prod/DATABASE_URL");
  await page.keyboard.press("Tab");
  await page.keyboard.type("postgres://hidden-value");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type("prod, database");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "prod", exact: true }).waitFor();
  expect(await valueAt(opened, "prod/DATABASE_URL")).toBe("postgres://hidden-value");

  await page.getByRole("link", { name: "prod", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "DATABASE_URL" }).waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("DATABASE_URL");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Copy value of DATABASE_URL" }).click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toBe("postgres://hidden-value");
  expect(await page.content()).not.toContain("postgres://hidden-value");
  await page.getByRole("button", { name: "Reveal" }).click();
  await page.getByText("postgres://hidden-value").waitFor();
  await page.getByRole("button", { name: "Hide" }).click();
  await expect.poll(() => page.content()).not.toContain("postgres://hidden-value");
  await page.keyboard.press("Escape");
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  flows += 1;
});

test("a revealed value is removed from the page after 30 seconds, and at once when the tab is hidden", async () => {
  const opened = await openVault({ KEY: { value: "seen-for-a-while", note: "seen-as-well" } });
  const { page } = opened;
  await page.clock.install();
  await open(opened, "KEY");
  await page.getByRole("button", { name: "Reveal" }).click();
  await page.getByText("seen-as-well").waitFor();
  await page.clock.runFor(25_000);
  expect(await page.content()).toContain("seen-for-a-while");
  await page.clock.runFor(6000);
  await expect.poll(() => page.content()).not.toContain("seen-for-a-while");
  expect(await page.content()).not.toContain("seen-as-well");

  await page.getByRole("button", { name: "Reveal" }).click();
  await page.getByText("seen-for-a-while").waitFor();
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await expect.poll(() => page.content()).not.toContain("seen-for-a-while");
  const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage].map(Object.entries)));
  expect(kept).not.toContain("seen");
  expect(page.url()).not.toContain("seen");
  flows += 1;
});

test("editing saves a new version; an idle edit is hidden without losing the input", async () => {
  const opened = await openVault({ KEY: { value: "first", tags: ["old"], note: "why-of-the-note" } });
  const { page } = opened;
  await page.clock.install();
  await open(opened, "KEY");
  await page.getByRole("button", { name: "Edit" }).click();
  const value = page.getByRole("textbox", { name: "Value" });
  await value.fill("second-in-writing");
  expect(await everythingIn(page)).toContain("why-of-the-note");
  await page.clock.runFor(31_000);
  await page.getByText("Hidden due to inactivity").waitFor();
  expect(await everythingIn(page)).not.toMatch(/second-in-writing|why-of-the-note/u);
  await page.getByRole("button", { name: "Continue editing" }).click();
  expect(await value.inputValue()).toBe("second-in-writing");
  await page.getByLabel("Tags").fill("new, newer");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Version 2").waitFor();
  expect(await valueAt(opened, "KEY")).toBe("second-in-writing");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Note").fill("another why");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Reveal" }).click();
  await page.getByText("another why").waitFor();
  expect(await page.getByText("Version 3").count()).toBe(0);
  flows += 1;
});

test("the history compares, restores and destroys versions", async () => {
  const opened = await openVault({ KEY: { value: "host=a\nport=1" } });
  const { page } = opened;
  await write(opened, "KEY", { value: "host=a\nport=2" });
  await page.reload();
  await open(opened, "KEY");
  await choose(page, "More actions for version 1", "Compare with current");
  await page.locator(".diff-line.removed", { hasText: "port=1" }).waitFor();
  await page.locator(".diff-line.added", { hasText: "port=2" }).waitFor();
  await choose(page, "More actions for version 1", "View");
  await page.locator(".version").getByRole("button", { name: "Reveal" }).click();
  await page.locator(".version").getByText("port=1").waitFor();
  await choose(page, "More actions for version 1", "Restore");
  await page.getByText("Version 3", { exact: true }).waitFor();
  expect(await valueAt(opened, "KEY")).toBe("host=a\nport=1");
  await choose(page, "More actions for version 2", "Destroy");
  await page.getByRole("button", { name: "Destroy", exact: true }).click();
  await page.getByText("Destroyed").waitFor();
  flows += 1;
});

test("a concurrent edit shows both values and lets the user decide", async () => {
  const first = await openVault({ KEY: { value: "the beginning" } });
  const second = { page: await fixture.signIn(), at: first.at };
  await second.page.goto(`${fixture.url}/secrets/${first.at}`);
  for (const [opened, text] of [
    [first, "of the first"],
    [second, "of the second"],
  ] as const) {
    await open(opened, "KEY");
    await opened.page.getByRole("button", { name: "Edit" }).click();
    await opened.page.getByRole("textbox", { name: "Value" }).fill(text);
  }
  await first.page.getByRole("button", { name: "Save" }).click();
  await first.page.getByText("Version 2").waitFor();
  const { page } = second;
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("This secret changed while you were editing").waitFor();
  await page.getByRole("region", { name: "Mine" }).getByText("of the second").waitFor();
  await page.getByRole("region", { name: "Theirs" }).getByText("of the first").waitFor();
  expect(await valueAt(first, "KEY")).toBe("of the first");

  await page.getByRole("button", { name: "Keep editing" }).click();
  const value = page.getByRole("textbox", { name: "Value" });
  expect(await value.inputValue()).toBe("of the second");
  await write(first, "KEY", { value: "once more of the first" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Overwrite with mine" }).click();
  await page.getByText("Version 4").waitFor();
  expect(await valueAt(first, "KEY")).toBe("of the second");
  flows += 1;
});

test("Keep theirs keeps the stored version, and a secret deleted during an edit can be saved as new", async () => {
  const opened = await openVault({ KEY: { value: "one" } });
  const { page } = opened;
  await open(opened, "KEY");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("textbox", { name: "Value" }).fill("mine");
  await write(opened, "KEY", { value: "theirs" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Keep theirs" }).click();
  await page.getByText("Version 2").waitFor();
  expect(await valueAt(opened, "KEY")).toBe("theirs");

  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("textbox", { name: "Value" }).fill("mine again");
  const { id } = await fixture.request<{ id: string }>(
    page,
    `/api/secrets/vaults/${opened.at}/secrets/by-path/KEY`,
  );
  await fixture.request(page, `/api/secrets/vaults/${opened.at}/secrets/${id}`, { method: "DELETE" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Save as new secret" }).click();
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  expect(await valueAt(opened, "KEY")).toBe("mine again");
  flows += 1;
});

test("a deleted secret is restored, and a permanently deleted one is gone", async () => {
  const opened = await openVault({ KEY: { value: "one" }, OTHER: { value: "two" } });
  const { page } = opened;
  for (const name of ["KEY", "OTHER"]) {
    await choose(page, `More actions for ${name}`, "Delete…");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await expect.poll(() => page.getByRole("link", { name, exact: true }).count()).toBe(0);
  }
  await choose(page, "More vault actions", "Recently deleted");
  await page.getByRole("link", { name: "/KEY" }).click();
  await page.getByRole("button", { name: "Restore" }).click();
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  await expect.poll(() => page.getByRole("link", { name: "/KEY" }).count()).toBe(0);
  expect(await valueAt(opened, "KEY")).toBe("one");
  await choose(page, "More actions for OTHER", "Delete permanently");
  await page.getByRole("button", { name: "Delete permanently", exact: true }).click();
  await page.getByText("No deleted secrets").waitFor();
  flows += 1;
});

test("folders are created, opened, renamed with their contents and deleted", async () => {
  const opened = await openVault();
  const { page } = opened;
  await choose(page, "More vault actions", "New folder");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("prod");
  await page.getByRole("button", { name: "Create folder" }).click();
  await page.getByRole("link", { name: "prod", exact: true }).click();
  await page.getByText("This folder is empty").waitFor();
  await page.keyboard.press("n");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("KEY");
  await page.getByRole("textbox", { name: "Value" }).fill("in a folder");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "KEY", exact: true }).waitFor();
  await page.getByRole("link", { name: "All secrets" }).click();
  await choose(page, "More actions for prod", "Move or rename");
  await page.getByLabel("Path").fill("/live");
  await page.getByRole("button", { name: "Move" }).click();
  await page.getByRole("link", { name: "live", exact: true }).waitFor();
  expect(await valueAt(opened, "live/KEY")).toBe("in a folder");
  await choose(page, "More actions for live", "Delete…");
  await page.getByRole("button", { name: "Delete folder" }).click();
  await page.getByText("No secrets yet").waitFor();
  flows += 1;
});

test("search covers the whole vault, tags filter it, and the URL holds both", async () => {
  const opened = await openVault({
    "prod/api/KEY": { value: "1", tags: ["red"] },
    "staging/OTHER_KEY": { value: "2", tags: ["blue"] },
    ALONE: { value: "3", tags: ["red"] },
  });
  const { page } = opened;
  await page.keyboard.press("/");
  await page.keyboard.type("key");
  await page.getByRole("link", { name: "/prod/api/KEY" }).waitFor();
  await page.getByRole("link", { name: "/staging/OTHER_KEY" }).waitFor();
  await page.getByRole("button", { name: "Filter by tag blue" }).click();
  await page.getByText("tagged blue").waitFor();
  await expect.poll(() => page.getByRole("link", { name: "/prod/api/KEY" }).count()).toBe(0);
  await page.getByRole("combobox", { name: "Filter by tag" }).fill("red");
  await page.getByRole("link", { name: "/ALONE" }).waitFor();
  await page.reload();
  await page.getByRole("link", { name: "/ALONE" }).waitFor();
  await page.getByLabel("Search names").fill("nothing-like-it");
  await page.getByText("No results").waitFor();
  await page.getByRole("link", { name: "Clear search" }).click();
  await page.getByRole("link", { name: "staging" }).waitFor();
  flows += 1;
});

test("a vault is created, renamed, deleted and restored; the personal one cannot be deleted", async () => {
  const { page } = await openVault();
  await choose(page, await switcherOf(page), "New vault");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Project");
  await page.getByRole("button", { name: "Create vault" }).click();
  await choose(page, "Vault Project", "Vault settings");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Great project");
  await page.getByLabel("Maximum versions per secret").fill("7");
  await page.getByLabel("Require If-Match").check();
  await page.getByRole("button", { name: "Save" }).click();
  await choose(page, "Vault Great project", "Vault settings");
  await expect.poll(() => page.getByLabel("Maximum versions per secret").inputValue()).toBe("7");
  await page.getByRole("button", { name: "Delete vault…" }).click();
  await page.getByRole("button", { name: "Delete vault", exact: true }).click();
  await page.getByRole("button", { name: "Vault Personal" }).waitFor();
  await choose(page, "Vault Personal", "Vault settings");
  await page.getByText("Your personal vault cannot be transferred or deleted").waitFor();
  expect(await page.getByRole("button", { name: "Delete vault…" }).count()).toBe(0);
  await page.keyboard.press("Escape");
  await choose(page, "Vault Personal", "Deleted vaults");
  const row = page.getByRole("listitem").filter({ hasText: "Great project" });
  await row.getByRole("button", { name: "Restore" }).click();
  await page.getByText("No deleted vaults").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Vault Personal" }).click();
  await page.getByRole("menuitem", { name: "Great project" }).waitFor();
  flows += 1;
});

test("an import previews its changes before it saves anything", async () => {
  const opened = await openVault({ SAME: { value: "1" }, OLD: { value: "old" } });
  const { page } = opened;
  await choose(page, "More vault actions", "Import");
  await page.getByLabel("Content").fill("SAME=1\nOLD=new\nFRESH='a b'\n");
  await page.getByRole("button", { name: "Preview" }).click();
  const preview = page.getByRole("region", { name: "Changes" });
  await preview.getByText("/FRESH").waitFor();
  expect(await preview.locator("section").allInnerTexts()).toEqual([
    expect.stringMatching(/^New\s+1\s+\/FRESH$/u),
    expect.stringMatching(/^Updated\s+1\s+\/OLD$/u),
    expect.stringMatching(/^Unchanged\s+1\s+\/SAME$/u),
  ]);
  expect(await valueAt(opened, "OLD")).toBe("old");
  await page.getByRole("button", { name: "Import 2 secrets" }).click();
  await page.getByRole("link", { name: "FRESH" }).waitFor();
  expect([await valueAt(opened, "OLD"), await valueAt(opened, "FRESH")]).toEqual(["new", "a b"]);
  flows += 1;
});

test("an export is saved as a file after a recent sign-in", async () => {
  const { page } = await openVault({ KEY: { value: "exported" } });
  await choose(page, "More vault actions", "Export");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export", exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("vault.env");
  const stream = await download.createReadStream();
  expect((await stream.toArray()).join("")).toContain("KEY=exported");
  flows += 1;
});

test("an export long after the sign-in requires a fresh one, and returns to the dialog", async () => {
  // A fresh sign-in replaces the session.
  const { page, at } = await openVault({ KEY: { value: "exported" } }, () => fixture.signIn());
  await page.route("**/export?*", (route) =>
    route.fulfill({
      status: 403,
      contentType: "application/problem+json",
      body: JSON.stringify({ title: "Sign in again", status: 403, code: "fresh_sign_in_required" }),
    }),
  );
  await choose(page, "More vault actions", "Export");
  await page.getByRole("button", { name: "Export", exact: true }).click();
  await page.getByRole("button", { name: "Sign in again with Example" }).click();
  await page.getByLabel("Account").fill(firstAccount.account);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${fixture.url}/secrets/${at}?open=export`);
  await page.unroute("**/export?*");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export", exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("vault.env");
  flows += 1;
});

test("a file is uploaded, stored byte for byte and downloaded again", async () => {
  const { page } = await openVault();
  const bytes = Buffer.from(Array.from({ length: 300 }, (_, at) => at % 256));
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("tls.key");
  await page.getByLabel("Type").selectOption("file");
  await page
    .getByLabel("File", { exact: true })
    .setInputFiles({ name: "tls.key", mimeType: "application/octet-stream", buffer: bytes });
  await page.getByText("tls.key, 300 bytes").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "tls.key" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  expect(Buffer.concat(await (await download.createReadStream()).toArray())).toEqual(bytes);
  flows += 1;
});

test("references in a value are expanded on request", async () => {
  const opened = await openVault({ HOST: { value: "db.internal" }, LINK: { value: "https://${/HOST}/x" } });
  await open(opened, "LINK");
  const { page } = opened;
  await page.getByRole("button", { name: "Reveal" }).click();
  await page.getByText("https://${/HOST}/x").waitFor();
  await page.getByRole("button", { name: "Expand references" }).click();
  await page.getByText("https://db.internal/x").waitFor();
  expect(await page.content()).not.toContain("${/HOST}");
  flows += 1;
});

test("an inaccessible vault and an unreachable server show plain errors", async () => {
  const { page } = await openVault();
  await page.goto(`${fixture.url}/secrets/00000000-0000-4000-8000-000000000000`);
  await page.getByText("Vault not found").waitFor();
  await page.route("**/secrets?*", (route) => route.abort());
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Cannot reach Keep").waitFor();
  await page.unroute("**/secrets?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("No secrets yet").waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  flows += 1;
  recordFigure({
    claim: "console 1",
    text: `${flows} flows of secrets in Chromium against Keep, PostgreSQL and a provider`,
    counted: { reached: flows, needed: 17 },
  });
});

/** Includes field values, which the page's HTML does not contain. */
async function everythingIn(page: Page): Promise<string> {
  const fields = await page.locator("input, textarea").evaluateAll((all) =>
    // Both element types have a value.
    all.map((field) => (field as HTMLInputElement).value),
  );
  return `${await page.content()} ${fields.join(" ")}`;
}

async function switcherOf(page: Page): Promise<string> {
  return (await page.getByRole("button", { name: /^Vault / }).getAttribute("aria-label")) ?? "";
}
