import { recordFigure } from "@hearth-and-keep/figures";
import type { Page, Request, Response } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleStage, startConsoleStage } from "./console-fixture.ts";

let stage: ConsoleStage;
let page: Page;
/** What must be nowhere in the end: values, notes and tokens. */
const canaries = new Set<string>();
/** Those that were seen on the page while they were to be seen: the search finds what is there. */
const seen = new Set<string>();
const addresses: string[] = [];
const cacheable: string[] = [];
let valueAnswers = 0;

beforeAll(async () => {
  stage = await startConsoleStage();
  page = await stage.signIn();
  page.setDefaultTimeout(20_000);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: stage.url });
  page.on("request", (request) => addresses.push(request.url(), headersOf(request)));
  page.on("framenavigated", (frame) => addresses.push(frame.url()));
  page.on("response", (response) => void noteAnswer(response));
  await page.goto(`${stage.url}/secrets`);
  await page.getByText("No secrets yet").waitFor();
  await page.clock.install();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

function headersOf(request: Request): string {
  const { referer = "" } = request.headers();
  return referer;
}

async function noteAnswer(response: Response): Promise<void> {
  const isOfValues = /\/value|\/import|\/export|\/tokens|\/secrets\//u.test(new URL(response.url()).pathname);
  if (!isOfValues || !response.url().includes("/api/")) return;
  valueAnswers += 1;
  const kept = (await response.allHeaders())["cache-control"] ?? "";
  if (!kept.includes("no-store")) cacheable.push(`${response.url()}: ${kept}`);
}

function canary(name: string): string {
  const text = `canary-${name}-${crypto.randomUUID()}`;
  canaries.add(text);
  return text;
}

/** Everywhere that a script, or whoever looks at the browser's files, finds what a page has kept. */
async function everythingKept(): Promise<string> {
  const kept = await page.evaluate(async () => {
    const fields = [...document.querySelectorAll("input, textarea")].map(
      (field) =>
        // Both kinds of fields have a value.
        (field as HTMLInputElement).value,
    );
    const databases = await indexedDB.databases();
    const caches = await Promise.all(
      (await window.caches.keys()).map(async (name) =>
        (await (await window.caches.open(name)).keys()).map(({ url }) => url),
      ),
    );
    const attributes = [...document.querySelectorAll("*")].flatMap((element) =>
      [...element.attributes].map(({ value }) => value),
    );
    return [
      document.documentElement.outerHTML,
      ...fields,
      ...attributes,
      JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]),
      JSON.stringify([databases, caches, history.state]),
      location.href,
      document.title,
      document.cookie,
      window.name,
    ].join("\n");
  });
  const state = await page.context().storageState({ indexedDB: true });
  return `${kept}\n${JSON.stringify(state.origins)}`;
}

async function expectSeen(...texts: readonly string[]): Promise<void> {
  const kept = await everythingKept();
  for (const text of texts) {
    expect(kept).toContain(text);
    seen.add(text);
  }
}

/** Every canary that is anywhere. */
async function findKept(): Promise<readonly string[]> {
  const kept = await everythingKept();
  return [...canaries].filter((text) => kept.includes(text));
}

/** Past the half minute for which something may be seen. */
async function waitHalfAMinute(): Promise<void> {
  await page.clock.runFor(31_000);
}

test("what is written into a new secret and its note is gone when it is saved", async () => {
  const [value, note] = [canary("written"), canary("written-note")];
  await page.keyboard.press("n");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("KEY");
  await page.getByRole("textbox", { name: "Value" }).fill(value);
  await page.getByLabel("Note").fill(note);
  await expectSeen(value, note);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "KEY", exact: true }).waitFor();
  expect(await findKept()).toEqual([]);
});

test("what is revealed is gone after 30 seconds, and at once when one leaves", async () => {
  const [value] = [...canaries];
  await page.getByRole("link", { name: "KEY", exact: true }).click();
  await page.getByRole("button", { name: "Reveal" }).click();
  await page.getByText(value ?? "").waitFor();
  await expectSeen(value ?? "");
  await waitHalfAMinute();
  expect(await findKept()).toEqual([]);
  await page.getByRole("button", { name: "Reveal" }).click();
  await page.getByText(value ?? "").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await findKept()).toEqual([]);
});

test("what is copied is never on the page", async () => {
  await page.getByRole("button", { name: "More for KEY" }).click();
  await page.getByRole("menuitem", { name: "Copy the value" }).click();
  await page.getByText("Copied KEY").waitFor();
  expect(canaries).toContain(await page.evaluate(() => navigator.clipboard.readText()));
  expect(await findKept()).toEqual([]);
});

test("what is edited and then left alone is gone after 30 seconds, and all versions are gone from a comparison", async () => {
  const value = canary("edited");
  await page.getByRole("link", { name: "KEY", exact: true }).click();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("textbox", { name: "Value" }).fill(value);
  await expectSeen(value);
  await waitHalfAMinute();
  await page.getByText("Hidden while you were away").waitFor();
  expect(await findKept()).toEqual([]);
  await page.getByRole("button", { name: "Go on editing" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "More for version 1" }).click();
  await page.getByRole("menuitem", { name: "Compare with now" }).click();
  await page.locator(".diff-line.added").waitFor();
  await expectSeen(value);
  await waitHalfAMinute();
  await page.locator(".diff-line.added").waitFor({ state: "detached" });
  expect(await findKept()).toEqual([]);
  await page.keyboard.press("Escape");
});

test("what is imported is gone after 30 seconds, in its preview and when it is done", async () => {
  const value = canary("imported");
  await page.getByRole("button", { name: "More for this vault" }).click();
  await page.getByRole("menuitem", { name: "Import" }).click();
  await page.getByLabel("Content").fill(`IMPORTED=${value}`);
  await expectSeen(value);
  await waitHalfAMinute();
  await page.getByText("Hidden while you were away").waitFor();
  expect(await findKept()).toEqual([]);
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("/IMPORTED").waitFor();
  expect(await findKept()).toEqual([]);
  await page.getByRole("button", { name: "Import 1 secret" }).click();
  await page.getByRole("link", { name: "IMPORTED" }).waitFor();
  expect(await findKept()).toEqual([]);
});

test("an export goes to its file and leaves nothing on the page", async () => {
  await page.getByRole("button", { name: "More for this vault" }).click();
  await page.getByRole("menuitem", { name: "Export" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export", exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("vault.env");
  addresses.push(download.url());
  expect(await findKept()).toEqual([]);
});

test("a token that was made, and the one of the first steps, are gone when one leaves", async () => {
  await page.goto(`${stage.url}/secrets/tokens?new=token`);
  await page.getByLabel("Name", { exact: true }).fill("a program");
  await page.getByRole("button", { name: "Make token" }).click();
  const dialog = page.getByRole("dialog", { name: "Copy your token now" });
  await takeToken(await dialog.textContent());
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await findKept()).toEqual([]);

  const value = canary("first");
  await page.goto(`${stage.url}/welcome`);
  await page.getByLabel("Name", { exact: true }).fill("FIRST");
  await page.getByLabel("Value").fill(value);
  await expectSeen(value);
  await page.getByRole("button", { name: "Save secret" }).click();
  await page.getByRole("button", { name: "Make token" }).click();
  await takeToken(await page.locator("pre").first().textContent());
  await waitHalfAMinute();
  await page.getByRole("button", { name: "Show the token" }).waitFor();
  expect(await findKept()).toEqual([]);
  await page.getByRole("link", { name: /^Skip(?! to content)/u }).click();
  await page.getByRole("link", { name: "KEY", exact: true }).waitFor();
  expect(await findKept()).toEqual([]);
});

async function takeToken(text: string | null): Promise<void> {
  const [token = "no token"] = /sk-svc-[0-9A-Za-z]{49}/u.exec(text ?? "") ?? [];
  canaries.add(token);
  await expectSeen(token);
}

test("none of it was in an address, every answer may not be stored, and the search would have found it", async () => {
  const all = addresses.join("\n");
  expect(
    [...canaries].filter((text) => all.includes(text) || all.includes(encodeURIComponent(text))),
  ).toEqual([]);
  expect(cacheable).toEqual([]);
  expect(valueAnswers).toBeGreaterThan(20);
  expect(seen.size).toBe(canaries.size);
  expect(stage.log()).not.toMatch(/canary-|sk-svc-[0-9A-Za-z]{49}/u);
  recordFigure({
    claim: "console 5",
    text: `${canaries.size} values, notes and tokens: each seen while it was shown, and afterwards in none of ${addresses.length} addresses, no storage, no field and no element; ${valueAnswers} answers all no-store`,
    counted: { reached: canaries.size, needed: 7 },
  });
});
