import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { verifyAuditExport } from "@hearth-and-keep/audit-records";
import { recordFigure } from "@hearth-and-keep/figures";
import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describedTypes } from "../src/screens/audit/describe-event.ts";
import { filtersFor } from "../src/screens/audit/event-filters.ts";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { tamperExports } from "./every-screen/screen-fixture.ts";

let fixture: ConsoleFixture;
let page: Page;
let vault: string;
const flows: string[] = [];
/** Generous, for slow machines. */
const longTimeout = { timeout: 20_000 };
const reads = 60;

beforeAll(async () => {
  fixture = await startConsoleFixture();
  page = await fixture.signIn();
  const created = await fixture.request<{ id: string }>(page, "/api/secrets/vaults", {
    method: "POST",
    body: { name: "Web shop" },
  });
  vault = created.id;
  const vaultPath = `/api/secrets/vaults/${vault}`;
  await fixture.request(page, `${vaultPath}/secrets/by-path/prod/KEY`, {
    method: "PUT",
    body: { value: "one" },
  });
  const token = await fixture.request<{ value: string }>(page, "/api/secrets/tokens", {
    method: "POST",
    body: { name: "shop", scopes: ["secrets:read"] },
  });
  const headers = { authorization: `Bearer ${token.value}` };
  for (let read = 0; read < reads; read += 1)
    await fetch(`${fixture.url}${vaultPath}/values/by-path/prod/KEY`, { headers });
  await fetch(`${fixture.url}/api/secrets/audit`, { headers });
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "console 1",
      text: `audit: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 9 },
    });
});

const events = () => page.getByRole("list", { name: "Events, newest first" });

async function openLog(logId: string): Promise<void> {
  await page.goto(`${fixture.url}/audit?vault=${logId}`);
  await events().waitFor();
}

test("the names of tokens are requested once", async () => {
  const requested: string[] = [];
  const note = (request: Request): void => void requested.push(new URL(request.url()).pathname);
  page.on("request", note);
  await openLog(vault);
  await page.getByLabel("By").locator("option", { hasText: "shop" }).waitFor({ state: "attached" });
  page.off("request", note);
  // The active ones and the revoked ones.
  expect(requested.filter((path) => path === "/api/secrets/tokens")).toHaveLength(2);
});

test("a vault's log shows actor, action and address, newest first, and loads more on request", async () => {
  await openLog(vault);
  const items = events().getByRole("listitem");
  expect(await items.count()).toBe(50);
  expect(await items.first().textContent()).toContain("The token “shop” read version 1 of /prod/KEY");
  expect(await items.first().textContent()).toContain("127.0.0.1");
  await page.getByRole("button", { name: "Load more" }).click();
  await expect.poll(() => items.count(), longTimeout).toBe(reads + 2);
  expect(await items.last().textContent()).toContain("You created the vault “Web shop”");
  expect(await page.getByRole("button", { name: "Load more" }).count()).toBe(0);
  const moment = items.first().locator("time");
  await moment.focus();
  expect(await moment.textContent()).toMatch(/just now|min ago/u);
  expect(await moment.getAttribute("data-exact")).toMatch(/20\d\d/u);
  flows.push("descriptions and paging");
});

test("filters show one kind of event and are part of the URL", async () => {
  await openLog(vault);
  await page.getByLabel("Show").selectOption("changes");
  await expect.poll(() => events().getByRole("listitem").count(), longTimeout).toBe(1);
  expect(await events().textContent()).toContain("You wrote version 1 of /prod/KEY");
  await page.reload();
  await expect.poll(() => events().getByRole("listitem").count(), longTimeout).toBe(1);
  await page.getByLabel("Show").selectOption("alerts");
  await page.getByText("No matching events").waitFor();
  await page.getByLabel("Log").selectOption("account");
  await page.getByLabel("Show").selectOption("alerts");
  await events().getByText("had a request denied: GET /api/secrets/audit").waitFor();
  flows.push("filters");
});

test("the log can be narrowed to an actor, to days and to a secret, and the URL says so", async () => {
  await openLog(vault);
  const items = events().getByRole("listitem");
  await page.getByLabel("By", { exact: true }).selectOption({ label: "You" });
  await expect.poll(() => items.count(), longTimeout).toBe(2);
  await page.reload();
  await expect.poll(() => items.count(), longTimeout).toBe(2);
  await page.getByLabel("Show").selectOption("changes");
  await expect.poll(() => items.count(), longTimeout).toBe(1);
  await page.getByLabel("Show").selectOption("all");
  await page.getByLabel("By", { exact: true }).selectOption({ label: "shop" });
  await expect.poll(() => items.count(), longTimeout).toBe(50);
  await page.getByLabel("From").fill("2100-01-01");
  await page.getByText("No matching events").waitFor();
  await page.getByLabel("From").fill("2020-01-01");
  await expect.poll(() => items.count(), longTimeout).toBe(50);
  await page.getByLabel("To").fill("2020-01-02");
  await page.getByText("No matching events").waitFor();
  flows.push("filters by actor and day");
});

test("a secret leads to the events of it alone, from which all can be shown", async () => {
  await page.goto(`${fixture.url}/secrets/${vault}?folder=%2Fprod`);
  await page.getByRole("link", { name: "KEY", exact: true }).click();
  await page.getByRole("dialog").getByRole("link", { name: "Audit log" }).click();
  await page.getByText("Only events of /prod/KEY").waitFor();
  const items = events().getByRole("listitem");
  await expect.poll(() => items.count(), longTimeout).toBe(50);
  await page.getByRole("button", { name: "Load more" }).click();
  // Without the creation of the vault.
  await expect.poll(() => items.count(), longTimeout).toBe(reads + 1);
  await page.getByRole("button", { name: "All secrets" }).click();
  await expect.poll(() => page.url()).not.toContain("secret=");
  flows.push("events of a secret");
});

test("the charts count reads and denials per day, and screen readers get a table", async () => {
  await openLog(vault);
  const rows = page.getByRole("table", { name: "Events per day" }).getByRole("row");
  await expect.poll(() => rows.count(), longTimeout).toBe(31);
  expect(await rows.last().getByRole("cell").allTextContents()).toEqual([String(reads), "1"]);
  expect(await page.locator(".chart rect.nonzero").count()).toBe(2);
  // The visually hidden table must not make a narrow page wider.
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.setViewportSize({ width: 1280, height: 720 });
  flows.push("charts");
});

test("an export is complete and verifies without the server", async () => {
  await openLog(vault);
  // A record is exported once it is in a signed log, about a second after its event.
  await expect
    .poll(async () => verifyAuditExport((await downloadExport()).split("\n")), longTimeout)
    .toMatchObject({ isValid: true, records: reads + 2, carriedOver: 0, logs: [{ records: reads + 2 }] });
  flows.push("export");
});

async function downloadExport(): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Export" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`keep-audit-${vault}.ndjson`);
  return readFile(await download.path(), "utf8");
}

test("an unknown vault shows that its log is missing", async () => {
  await page.goto(`${fixture.url}/audit?vault=00000000-0000-7000-8000-000000000000`);
  await page.getByText("Log not found").waitFor();
  expect(await events().count()).toBe(0);
  await page.getByLabel("Log").selectOption(vault);
  await events().waitFor();
  flows.push("missing log");
});

test("a log is verified in the browser, and a modified record is named", async () => {
  await openLog(vault);
  const panel = page.locator(".verify");
  const verify = () => page.getByRole("button", { name: "Verify" }).click();
  await expect
    .poll(async () => {
      await verify();
      await page.getByText("Log verified").waitFor();
      return panel.textContent();
    }, longTimeout)
    .toMatch(
      new RegExp(
        `^Log verified: ${reads + 2} records since .+, no changes detected\\. Recorded in the log of 1 node, with 1 signed checkpoint\\.$`,
        "u",
      ),
    );
  await tamperExports(page, { from: "/prod/KEY", to: "/prod/LIE" });
  await verify();
  await page.getByText("content does not match what was recorded").waitFor();
  await page.getByRole("button", { name: "Load more" }).click();
  const written = events().getByRole("listitem").filter({ hasText: "wrote version 1" });
  const name = await written.locator(".record-name").textContent();
  expect(name).toMatch(/^\d+\/\d{16}$/u);
  expect(await panel.textContent()).toMatch(/^The record of .+ failed verification: /u);
  expect(await panel.textContent()).toContain(`(${name})`);
  await page.unrouteAll();
  await verify();
  await page.getByText("Log verified").waitFor();
  flows.push("verify and find a modified record");
});

test("every event type of the server has a description and belongs to a filter", () => {
  const source = readFileSync(new URL("../../keep/src/audit/events.ts", import.meta.url), "utf8");
  const declared = [...source.matchAll(/readonly type:(?<types>[^;}]*)[;}]/gu)].flatMap(({ groups }) =>
    [...(groups?.["types"] ?? "").matchAll(/"(?<type>[a-z-]+)"/gu)].map((found) => found.groups?.["type"]),
  );
  expect(declared.length).toBeGreaterThan(25);
  expect(declared.filter((type) => !describedTypes.includes(type ?? ""))).toEqual([]);
  const filtered = [...filtersFor("account"), ...filtersFor("a vault")].flatMap(({ types }) => types);
  // The log of a deleted account cannot be viewed.
  expect(declared.filter((type) => type !== "account-deleted" && !filtered.includes(type ?? ""))).toEqual([]);
});

test("an event that read several values names them on request", async () => {
  const token = await fixture.request<{ value: string }>(page, "/api/secrets/tokens", {
    method: "POST",
    body: { name: "bulk", scopes: ["secrets:read"], vault_ids: [vault] },
  });
  const bulk = `${fixture.url}/api/secrets/vaults/${vault}/values?path=/prod`;
  await fetch(bulk, { headers: { authorization: `Bearer ${token.value}` } });
  await page.goto(`${fixture.url}/audit?vault=${vault}&show=reads`);
  const event = events().getByRole("listitem").first();
  await event.getByText("read 1 value in /prod").waitFor();
  await event.getByText("Show secrets").click();
  expect(await event.getByRole("listitem").allTextContents()).toEqual(["/prod/KEY, version 1"]);
  await event.getByRole("link", { name: "/prod/KEY" }).click();
  await page.getByRole("dialog").getByRole("heading", { name: "KEY" }).waitFor();
  flows.push("names of values read together");
});
