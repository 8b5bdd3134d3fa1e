import { chooseSize, hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { worstOf } from "../../../bench/rounds.ts";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";

const secretCount = chooseSize({ ci: 2000, show: 10_000, nightly: 10_000 });
const batchSize = 200;
/** One in CI, which only detects a broken list. */
const passes = hasLooseTimingBounds ? 1 : 3;
const slack = hasLooseTimingBounds ? 10 : 1;
const timeout = 900_000;

test("thousands of secrets load fast, scroll smoothly and are found while typing", {
  timeout,
}, async () => {
  await using fixture = await startConsoleFixture();
  const page = await fixture.signIn();
  const vault = await fillVault(fixture, page);

  const paints: number[] = [];
  const scrolls: Scroll[] = [];
  for (let pass = 0; pass < passes; pass += 1) {
    paints.push(await measureFirstPaint(page, `${fixture.url}/secrets/${vault}`));
    scrolls.push(await measureScroll(page));
  }
  const search = await measureSearch(page);
  const firstPaint = paints.toSorted((one, other) => one - other)[Math.floor(passes / 2)] ?? Infinity;
  const longestFrame = Math.min(...scrolls.map((scroll) => scroll.longestFrame));
  const judgedFrame = Math.min(...scrolls.map((scroll) => scroll.judgedFrame));
  const busiest = Math.max(...scrolls.map((scroll) => scroll.busiestTask));
  const text = [
    `${secretCount} secrets in one vault: first paint of the list ${round(firstPaint)} ms (median of ${passes})`,
    `longest frame while scrolling to the end ${round(longestFrame)} ms (best of ${passes} passes)`,
    `of which no task takes more than ${round(busiest)} ms of the processor (worst of ${passes})`,
    `search ${round(search)} ms from the last letter to the painted result (worst of 3)`,
  ].join(", ");

  expect(scrolls.map(({ reached }) => reached)).toEqual(scrolls.map(() => nameOf(secretCount - 1)));
  expect(busiest, text).toBeLessThanOrEqual(50 * slack);
  expect(firstPaint, text).toBeLessThanOrEqual(1000 * slack);
  expect(search, text).toBeLessThanOrEqual(200 * slack);
  expect(judgedFrame, text).toBeLessThanOrEqual(50 * slack);
  recordFigure({ claim: "console 7", text });
});

const round = (milliseconds: number): number => Math.round(milliseconds);

const nameOf = (index: number): string => `SECRET_${String(index).padStart(5, "0")}`;

async function fillVault(fixture: ConsoleFixture, page: Page): Promise<string> {
  const [vault] = await fixture.request<{ id: string }[]>(page, "/api/secrets/vaults");
  const id = vault?.id ?? "";
  for (let from = 0; from < secretCount; from += batchSize) {
    const operations = Array.from({ length: batchSize }, (_, offset) => ({
      op: "put",
      path: `/${nameOf(from + offset)}`,
      value: `value ${from + offset}`,
      tags: [`group-${offset % 7}`],
    }));
    await fixture.request(page, `/api/secrets/vaults/${id}/batch`, { method: "POST", body: { operations } });
  }
  return id;
}

/** From the start of the navigation until the frame after the first rows were rendered. */
async function measureFirstPaint(page: Page, url: string): Promise<number> {
  await page.addInitScript(() => {
    const watch = new MutationObserver(() => {
      if (document.querySelector('[data-index="5"]') === null) return;
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(() => performance.mark("list-painted"), 0));
    });
    watch.observe(document, { childList: true, subtree: true });
  });
  await page.goto(url);
  await page.waitForFunction(() => performance.getEntriesByName("list-painted").length > 0);
  return page.evaluate(() => performance.getEntriesByName("list-painted")[0]?.startTime ?? Infinity);
}

type Scroll = {
  /** Wall-clock time between two frames, which includes other load on the machine. */
  readonly longestFrame: number;
  readonly judgedFrame: number;
  /** CPU time of the page's longest task. */
  readonly busiestTask: number;
  readonly reached: string;
};

async function measureScroll(page: Page): Promise<Scroll> {
  const session = await page.context().newCDPSession(page);
  let busiestTask = 0;
  session.on("Tracing.dataCollected", ({ value }) => {
    for (const event of value) {
      const { name, tdur = 0 }: { name?: string; tdur?: number } = event;
      if (name?.endsWith("RunTask") === true) busiestTask = Math.max(busiestTask, tdur / 1000);
    }
  });
  await session.send("Tracing.start", {
    traceConfig: { includedCategories: ["toplevel", "disabled-by-default-devtools.timeline"] },
  });
  const { frames, reached } = await scrollToTheEnd(page);
  const completed = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await completed;
  await session.detach();
  return { longestFrame: Math.max(...frames), judgedFrame: worstOf(frames), busiestTask, reached };
}

/** Fast scrolling: half a screen per frame. */
function scrollToTheEnd(page: Page): Promise<{ readonly frames: number[]; readonly reached: string }> {
  return page.evaluate(async (last) => {
    const frames: number[] = [];
    let before = await new Promise<number>(requestAnimationFrame);
    for (let frame = 0; frame < 6000; frame += 1) {
      window.scrollBy(0, window.innerHeight / 2);
      const now = await new Promise<number>(requestAnimationFrame);
      frames.push(now - before);
      before = now;
      if (document.querySelector(`[data-index="${last}"]`) !== null) break;
    }
    return { frames, reached: document.querySelector(`[data-index="${last}"] a`)?.textContent ?? "" };
  }, secretCount - 1);
}

/** From the last keystroke until the frame that shows the single result. */
async function measureSearch(page: Page): Promise<number> {
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.keyboard.press("/");
  const times: number[] = [];
  for (const wanted of [secretCount / 2 - 289, secretCount - 2, 42].map(nameOf)) {
    await page.getByRole("searchbox").fill("");
    await page.locator('[data-index="5"]').waitFor();
    await page.keyboard.type(wanted.slice(0, -1).toLowerCase(), { delay: 30 });
    // In two steps: a keystroke before the listener is installed would never be seen.
    const waiting = await page.evaluateHandle(waitForSingleResult, wanted);
    await page.keyboard.type(wanted.slice(-1));
    times.push(await waiting.evaluate(({ found }) => found));
  }
  return Math.max(...times);
}

/** Runs in the page and measures from the next keystroke. */
function waitForSingleResult(wanted: string): { readonly found: Promise<number> } {
  const found = new Promise<number>((resolve) => {
    let start = 0;
    document.addEventListener("input", () => (start = performance.now()), { capture: true, once: true });
    const check = (): void => {
      const rows = document.querySelectorAll(".list:not(.stale) [data-index]");
      const isThere = start > 0 && rows.length === 1 && rows[0]?.textContent?.includes(wanted) === true;
      if (!isThere) requestAnimationFrame(check);
      else requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start), 0));
    };
    check();
  });
  return { found };
}
