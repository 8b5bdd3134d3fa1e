import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { verifyChain } from "@hearth-and-keep/audit-chain";
import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { groupsOf } from "../src/screens/audit/event-groups.ts";
import { knownTypes } from "../src/screens/audit/event-sentences.ts";
import { type ConsoleStage, startConsoleStage } from "./console-fixture.ts";

let stage: ConsoleStage;
let page: Page;
let vault: string;
const flows: string[] = [];
/** A busy machine takes its time. */
const patience = { timeout: 20_000 };
const reads = 60;

beforeAll(async () => {
  stage = await startConsoleStage();
  page = await stage.signIn();
  const made = await stage.ask<{ id: string }>(page, "/api/secrets/vaults", {
    method: "POST",
    body: { name: "Web shop" },
  });
  vault = made.id;
  const place = `/api/secrets/vaults/${vault}`;
  await stage.ask(page, `${place}/secrets/by-path/prod/KEY`, { method: "PUT", body: { value: "one" } });
  const token = await stage.ask<{ value: string }>(page, "/api/secrets/tokens", {
    method: "POST",
    body: { name: "shop", scopes: ["secrets:read"] },
  });
  const headers = { authorization: `Bearer ${token.value}` };
  for (let read = 0; read < reads; read += 1)
    await fetch(`${stage.url}${place}/values/by-path/prod/KEY`, { headers });
  await fetch(`${stage.url}/api/secrets/audit`, { headers });
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "console 1",
      text: `audit: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 6 },
    });
});

const events = () => page.getByRole("list", { name: "Events, the newest first" });

async function openLog(place: string): Promise<void> {
  await page.goto(`${stage.url}/audit?vault=${place}`);
  await events().waitFor();
}

test("a vault's log says who did what from where, the newest first, and more of it when asked", async () => {
  await openLog(vault);
  const items = events().getByRole("listitem");
  expect(await items.count()).toBe(50);
  expect(await items.first().textContent()).toContain("The token “shop” read version 1 of /prod/KEY");
  expect(await items.first().textContent()).toContain("127.0.0.1");
  await page.getByRole("button", { name: "Load more" }).click();
  await expect.poll(() => items.count(), patience).toBe(reads + 2);
  expect(await items.last().textContent()).toContain("You made the vault “Web shop”");
  expect(await page.getByRole("button", { name: "Load more" }).count()).toBe(0);
  const moment = items.first().locator("time");
  await moment.focus();
  expect(await moment.textContent()).toMatch(/just now|min ago/u);
  expect(await moment.getAttribute("data-exact")).toMatch(/20\d\d/u);
  flows.push("sentences and more of them");
});

test("filters show one kind of event of one log, and have an address of their own", async () => {
  await openLog(vault);
  await page.getByLabel("Show").selectOption("changes");
  await expect.poll(() => events().getByRole("listitem").count(), patience).toBe(1);
  expect(await events().textContent()).toContain("You wrote version 1 of /prod/KEY");
  await page.reload();
  await expect.poll(() => events().getByRole("listitem").count(), patience).toBe(1);
  await page.getByLabel("Show").selectOption("alarms");
  await page.getByText("Nothing of this kind has happened").waitFor();
  await page.getByLabel("Log").selectOption("account");
  await page.getByLabel("Show").selectOption("alarms");
  await events().getByText("was denied GET /api/secrets/audit").waitFor();
  flows.push("filters");
});

test("the charts have the day's reads and denials, also for those who hear them", async () => {
  await openLog(vault);
  const rows = page.getByRole("table", { name: "By day" }).getByRole("row");
  expect(await rows.count()).toBe(31);
  expect(await rows.last().getByRole("cell").allTextContents()).toEqual([String(reads), "1"]);
  expect(await page.locator(".chart rect.some").count()).toBe(2);
  // The table that is only heard must not make a narrow page wider.
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.setViewportSize({ width: 1280, height: 720 });
  flows.push("charts");
});

test("an export is downloaded whole, and verifies without the server", async () => {
  await openLog(vault);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Export" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`keep-audit-${vault}.ndjson`);
  const text = await readFile(await download.path(), "utf8");
  expect(await verifyChain(text.split("\n"))).toMatchObject({ isSound: true, links: reads + 2 });
  flows.push("export");
});

test("a vault that is gone has no log, and the page says what to do", async () => {
  await page.goto(`${stage.url}/audit?vault=00000000-0000-7000-8000-000000000000`);
  await page.getByText("There is no such log").waitFor();
  expect(await events().count()).toBe(0);
  await page.getByLabel("Log").selectOption(vault);
  await events().waitFor();
  flows.push("missing log");
});

test("a log is checked in the browser, and a record that somebody changed is named", {
  timeout: 180_000,
}, async () => {
  await openLog(vault);
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("The log is whole").waitFor();
  await page.getByText(`All ${reads + 2} records since`).waitFor();
  await expect
    .poll(
      async () => {
        await page.getByRole("button", { name: "Verify" }).click();
        await page.getByText("The log is whole").waitFor();
        return page.locator(".verify").textContent();
      },
      { timeout: 120_000, interval: 5000 },
    )
    .toContain(`One signed checkpoint vouches for it up to record #${reads + 2}`);
  stage.runSql(
    `UPDATE audit_event SET body = replace(body, '/prod/KEY', '/prod/LIE') WHERE chain_id = '${vault}' AND seq = 7`,
  );
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Record #7 is not as it was").waitFor();
  await page.getByText("what it says is not what was recorded").waitFor();
  flows.push("verify and find a changed record");
});

test("there are words for every event that the server records, and each is in a group", () => {
  const source = readFileSync(new URL("../../keep/src/audit/events.ts", import.meta.url), "utf8");
  const declared = [...source.matchAll(/readonly type:(?<types>[^;}]*)[;}]/gu)].flatMap(({ groups }) =>
    [...(groups?.["types"] ?? "").matchAll(/"(?<type>[a-z-]+)"/gu)].map((found) => found.groups?.["type"]),
  );
  expect(declared.length).toBeGreaterThan(25);
  expect(declared.filter((type) => !knownTypes.includes(type ?? ""))).toEqual([]);
  const grouped = [...groupsOf("account"), ...groupsOf("a vault")].flatMap(({ types }) => types);
  // Nobody can look at the log of an account that is gone.
  expect(declared.filter((type) => type !== "account-deleted" && !grouped.includes(type ?? ""))).toEqual([]);
});
