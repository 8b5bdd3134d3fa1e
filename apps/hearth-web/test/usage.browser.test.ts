import { readFile } from "node:fs/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { type Watched, watchPage } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { mockInferenceKey, stallRequests } from "./every-screen/screen-state.ts";
import {
  hostileNames,
  hostileRows,
  type MockUsage,
  mockCsv,
  mockUsage,
  ordinaryRows,
  usagePattern,
} from "./mock-usage.ts";
import { startWebUi, type WebUiFixture } from "./web-ui-fixture.ts";

const checked: string[] = [];
const neededChecks = 13;
const problems: string[] = [];
let fixture: WebUiFixture;
let page: Page;
let watched: Watched;
let areRefusalsAllowed = false;

beforeAll(async () => {
  fixture = await startWebUi();
  page = await fixture.open();
  await page.clock.setFixedTime("2026-11-18T14:05:00Z");
  watched = await watchPage(page, { origin: fixture.url, allowsRefusals: () => areRefusalsAllowed });
});

afterEach(async () => {
  problems.push(...watched.takeProblems());
  areRefusalsAllowed = false;
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "share 9",
    text: `the Usage screen in Chromium: ${checked.join(", ")}`,
    counted: { reached: checked.length, needed: neededChecks },
  });
});

const button = (name: string): Locator => page.getByRole("button", { name, exact: true });
const chart = (name: RegExp): Locator => page.getByRole("img", { name });
const table = (): Locator => page.getByRole("region", { name: /^Usage by/u });
const tile = (name: string): Promise<string | null> =>
  page.locator(".tile", { hasText: name }).locator("dd").first().textContent();
const cellsOf = (row: number): Promise<readonly string[]> =>
  table().locator("tbody tr").nth(row).locator("th, td").allTextContents();
const names = (): Promise<readonly string[]> => table().locator("tbody th").allTextContents();

async function openUsage(usage: MockUsage): Promise<void> {
  await mockUsage(page, usage);
  await page.goto(`${fixture.url}/ui/usage`);
}

test("each period requests its own days in UTC, and the page adds up what the server counted", async () => {
  const queries: string[] = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname === "/api/usage") queries.push(search);
  });
  await openUsage({ rowsOf: () => [{}, { key: "bob", requests: 4, failed: 0, queue_seconds: 0.42 }] });
  await chart(/^Tokens per day: Most: Nov 12, 8,600 tokens$/u).waitFor();
  expect(await tile("Requests")).toBe("112");
  expect(await tile("Input tokens")).toBe("47.6k");
  expect(await cellsOf(0)).toEqual(["alice", "84", "7", "23,800", "14,700", "6,300", "20 ms", "0.31 s"]);
  expect(await cellsOf(1)).toEqual(["bob", "28", "0", "23,800", "14,700", "6,300", "0.42 s", "0.31 s"]);
  await button("30 days").click();
  await chart(/^Tokens per day: Most: Oct 20, 8,600 tokens$/u).waitFor();
  expect(await tile("Requests")).toBe("480");
  await button("24 hours").click();
  // The server counts two days by the hour, of which the page shows 24 hours.
  await chart(/^Tokens per hour: Most: Nov 17, 15:00, 8,600 tokens$/u).waitFor();
  expect(await tile("Requests")).toBe("384");
  expect(queries).toEqual([
    "?from=2026-11-12&to=2026-11-18&bucket=day",
    "?from=2026-10-20&to=2026-11-18&bucket=day",
    "?from=2026-11-17&to=2026-11-18&bucket=hour",
  ]);
  checked.push("periods");
});

test("the values of the chart are a table, and a bar under the pointer shows its own", async () => {
  await openUsage({ rowsOf: (index) => (index === 0 ? [{}] : []) });
  await page.getByText("Tokens per day as a table").click();
  const rows = page.getByRole("region", { name: "Tokens per day" }).locator("tbody tr");
  expect(await rows.count()).toBe(7);
  expect(await rows.nth(0).locator("th, td").allTextContents()).toEqual(["Nov 18", "1,300", "2,100", "900"]);
  expect(await rows.nth(6).locator("th, td").allTextContents()).toEqual(["Nov 12", "0", "0", "0"]);
  await chart(/^Tokens per key/u).hover();
  await page.getByText("alice: 1,300 input not cached, 2,100 cached, 900 output").waitFor();
  await page.getByRole("heading", { level: 1 }).hover();
  await page.getByText("Most: alice, 4,300 tokens").waitFor();
  checked.push("chart as a table");
});

test("usage is grouped by model with the location of remote ones, and sorted by any column", async () => {
  await openUsage({ rowsOf: ordinaryRows });
  await table().waitFor();
  expect(await names()).toEqual(["alice", "build-server", "carol"]);
  await button("Requests").click();
  expect(await names()).toEqual(["build-server", "alice", "carol"]);
  const header = page.getByRole("columnheader", { name: "Requests" });
  expect(await header.getAttribute("aria-sort")).toBe("descending");
  await button("Requests").click();
  expect(await names()).toEqual(["carol", "alice", "build-server"]);
  expect(await header.getAttribute("aria-sort")).toBe("ascending");
  await button("Model").click();
  await chart(/^Tokens per model/u).waitFor();
  expect(await names()).toEqual(["far/large:latestremote", "smollm2:135m", "qwen3:8bpool"]);
  await table().getByRole("button", { name: "Model" }).click();
  expect(await names()).toEqual(["far/large:latestremote", "qwen3:8bpool", "smollm2:135m"]);
  checked.push("groups and order");
});

test("the CSV file of the chosen period is downloaded, and a failed download is an error and no file", async () => {
  await openUsage({ rowsOf: ordinaryRows });
  await button("30 days").click();
  const [download] = await Promise.all([page.waitForEvent("download"), button("Download CSV").click()]);
  expect(download.suggestedFilename()).toBe("hearth-usage-2026-10-20-to-2026-11-18.csv");
  expect(await readFile(await download.path(), "utf8")).toBe(mockCsv);
  areRefusalsAllowed = true;
  let downloads = 0;
  page.on("download", () => (downloads += 1));
  await page.route("**/api/usage?*format=csv", (route) =>
    route.fulfill({ status: 503, body: JSON.stringify({ error: "busy", code: "server-busy" }) }),
  );
  await button("Download CSV").click();
  await page.getByText("Try again in a moment.").waitFor();
  expect(downloads).toBe(0);
  await button("7 days").click();
  await page.getByText("Try again in a moment.").waitFor({ state: "detached" });
  checked.push("CSV");
});

test("the response for a period that is no longer chosen is ignored", async () => {
  await openUsage({ rowsOf: ordinaryRows });
  const late = Promise.withResolvers<void>();
  await page.route("**/api/usage?*bucket=hour*", async (route) => {
    await late.promise;
    await route.fallback();
  });
  await button("24 hours").click();
  await page.getByRole("status", { name: "Loading usage" }).waitFor();
  expect(await button("Download CSV").isDisabled()).toBe(true);
  await button("30 days").click();
  await chart(/^Tokens per day: Most: Oct/u).waitFor();
  late.resolve();
  await page.waitForTimeout(500);
  expect(await chart(/^Tokens per day: Most: Oct/u).count()).toBe(1);
  checked.push("late responses");
});

test("without requests in the period, the page says so and offers no file", async () => {
  await openUsage({ rowsOf: () => [] });
  await page.getByText("No requests in the last 7 days.").waitFor();
  await button("24 hours").click();
  await page.getByText("No requests in the last 24 hours.").waitFor();
  expect(await button("Download CSV").isDisabled()).toBe(true);
  expect(await page.getByRole("img").count()).toBe(0);
  checked.push("no requests");
});

test("while usage is not recorded, one sentence says how to record it", async () => {
  await openUsage({ rowsOf: () => [], ledger: "off" });
  const sentence = await page.getByRole("note").textContent();
  expect(sentence).toMatch(
    /^[^.]+hearth keys create NAME, then restart the server[^.]+docs\/hearth\/keys\.md[^.]+\.$/u,
  );
  expect(await button("Download CSV").isDisabled()).toBe(true);
  checked.push("not recorded");
});

test("a failed request shows the server's error and what to do, and can be repeated", async () => {
  areRefusalsAllowed = true;
  const fail = async (status: number, body: object): Promise<void> => {
    await page.route(usagePattern, (route) => route.fulfill({ status, body: JSON.stringify(body) }));
  };
  await fail(403, { error: "usage requires an admin key", code: "admin-key-required" });
  await page.goto(`${fixture.url}/ui/usage`);
  await page.getByText("Usage requires an admin key").waitFor();
  await page.getByText("Ask whoever runs this server for an admin key.").waitFor();
  await fail(404, { error: "not found", code: "route-not-found" });
  await button("Try again").click();
  await page.getByText("The server may be a different version.").waitFor();
  await page.route(usagePattern, (route) => route.abort());
  await button("Try again").click();
  await page.getByText("Cannot reach Hearth").waitFor();
  await mockUsage(page, { rowsOf: ordinaryRows });
  await button("Try again").click();
  await chart(/^Tokens per day/u).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  checked.push("errors");
});

test("until the role of the key is known, it stays open whose usage is shown", async () => {
  await stallRequests(page, "**/api/status");
  await openUsage({ rowsOf: ordinaryRows });
  await expect.poll(() => button("Download CSV").isEnabled()).toBe(true);
  await page.getByRole("status", { name: "Loading usage" }).waitFor();
  expect(await page.getByRole("img").count()).toBe(0);
  expect(await page.getByRole("group", { name: "Group by" }).count()).toBe(0);
  checked.push("unknown role");
});

test("a key for inference sees its own usage by model, and is not offered keys", async () => {
  await mockInferenceKey(page);
  await openUsage({ rowsOf: () => [{}] });
  await page.getByText("This is the usage of your API key.").waitFor();
  await chart(/^Tokens per model/u).waitFor();
  expect(await page.getByRole("group", { name: "Group by" }).count()).toBe(0);
  expect(await page.getByText("alice").count()).toBe(0);
  checked.push("key for inference");
});

test("hostile names of keys and models stay text, and sixty keys with huge counts fit any window", async () => {
  await openUsage({ rowsOf: hostileRows });
  await button("30 days").click();
  await expect.poll(names).toHaveLength(60);
  for (const grouping of ["Key", "Model"]) {
    await page.getByRole("group", { name: "Group by" }).getByRole("button", { name: grouping }).click();
    const shown = (await names()).join("\n");
    for (const name of [hostileNames.html, hostileNames.long, hostileNames.formula]) {
      expect(shown).toContain(name);
    }
    expect(shown).toContain("safe⟦U+202E⟧nimda");
    expect(await page.evaluate(() => "isBroken" in window)).toBe(false);
    expect(await page.locator("main :is(script, img)").count()).toBe(0);
    for (const width of [1440, 720, 390, 320]) {
      await page.setViewportSize({ width, height: 800 });
      const tooWide = (): Promise<number> =>
        page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      await expect.poll(tooWide, { message: `${grouping} at ${width}` }).toBe(0);
      const main = await page
        .getByRole("main")
        .evaluate((element) => element.scrollWidth - element.clientWidth);
      expect(main, `${grouping} at ${width}`).toBe(0);
    }
  }
  expect(await table().textContent()).toContain("30,000,000,000,000,000");
  await page.setViewportSize({ width: 1440, height: 900 });
  checked.push("hostile names and counts");
});

test("on a phone the table scrolls sideways inside the page, and the names stay in view", async () => {
  await page.setViewportSize({ width: 390, height: 800 });
  await openUsage({ rowsOf: ordinaryRows });
  const name = table().getByText("build-server");
  const last = table().getByRole("columnheader", { name: "Mean time to first token" });
  await name.scrollIntoViewIfNeeded();
  const before = await name.boundingBox();
  await last.scrollIntoViewIfNeeded();
  const box = await last.boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
  expect((await name.boundingBox())?.x).toBe(before?.x);
  await page.setViewportSize({ width: 1440, height: 900 });
  checked.push("scrolling table");
});

test("meanwhile, the page reported no error, broke no rule of its policy and asked no other server", () => {
  expect(problems).toEqual([]);
  checked.push("no console error");
});
