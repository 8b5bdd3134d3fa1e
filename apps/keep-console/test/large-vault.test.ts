import { isJudgedLoosely, recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { type ConsoleStage, startConsoleStage } from "./console-stage.ts";

const secretCount = 10_000;
const batchSize = 200;
const slack = isJudgedLoosely ? 5 : 1;

test("ten thousand secrets come at once, scroll without a jerk and are found while one types", {
  timeout: 600_000,
}, async () => {
  await using stage = await startConsoleStage();
  const page = await stage.signIn();
  const vault = await fillVault(stage, page);

  const paints: number[] = [];
  for (let load = 0; load < 3; load += 1) {
    paints.push(await measureFirstPaint(page, `${stage.url}/secrets/${vault}`));
  }
  const firstPaint = paints.toSorted((one, other) => one - other)[1] ?? Infinity;
  const { longestFrame, reached } = await measureScroll(page);
  const search = await measureSearch(page);

  console.error("FIGURES", paints, longestFrame, search);
  expect(reached).toBe(`SECRET_${String(secretCount - 1).padStart(5, "0")}`);
  expect(firstPaint).toBeLessThanOrEqual(1000 * slack);
  expect(longestFrame).toBeLessThanOrEqual(50 * slack);
  expect(search).toBeLessThanOrEqual(200 * slack);
  recordFigure({
    claim: "console 7",
    text: `10,000 secrets in one vault: first paint of the list ${round(firstPaint)} ms (median of 3), longest frame while scrolling to the end ${round(longestFrame)} ms, search ${round(search)} ms from the last letter to the painted result`,
  });
});

const round = (milliseconds: number): number => Math.round(milliseconds);

async function fillVault(stage: ConsoleStage, page: Page): Promise<string> {
  const [vault] = await stage.ask<{ id: string }[]>(page, "/api/secrets/vaults");
  const id = vault?.id ?? "";
  for (let from = 0; from < secretCount; from += batchSize) {
    const operations = Array.from({ length: batchSize }, (_, offset) => ({
      op: "put",
      path: `/SECRET_${String(from + offset).padStart(5, "0")}`,
      value: `value ${from + offset}`,
      tags: [`group-${offset % 7}`],
    }));
    await stage.ask(page, `/api/secrets/vaults/${id}/batch`, { method: "POST", body: { operations } });
  }
  return id;
}

/** From the begin of the navigation until the frame after the first row was drawn. */
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

/** Scrolls to the end as a quick hand does, half a screen each frame, and gives the longest gap between frames. */
async function measureScroll(page: Page): Promise<{ longestFrame: number; reached: string }> {
  return page.evaluate(async (last) => {
    const nextFrame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
    let [longestFrame, before] = [0, await nextFrame()];
    for (let frame = 0; frame < 6000; frame += 1) {
      window.scrollBy(0, window.innerHeight / 2);
      const now = await nextFrame();
      longestFrame = Math.max(longestFrame, now - before);
      before = now;
      if (document.querySelector(`[data-index="${last}"]`) !== null) break;
    }
    await nextFrame();
    return { longestFrame, reached: document.querySelector(`[data-index="${last}"] a`)?.textContent ?? "" };
  }, secretCount - 1);
}

/** Letter by letter; from the last one until the frame that shows the one result. */
async function measureSearch(page: Page): Promise<number> {
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.keyboard.press("/");
  const times: number[] = [];
  for (const number of ["04711", "09998", "00042"]) {
    await page.getByRole("searchbox").fill("");
    await page.locator('[data-index="5"]').waitFor();
    await page.keyboard.type(`secret_${number.slice(0, -1)}`, { delay: 30 });
    const time = page.evaluate(
      (wanted) =>
        new Promise<number>((resolve) => {
          let begin = 0;
          document.addEventListener("input", () => (begin = performance.now()), {
            capture: true,
            once: true,
          });
          const look = (): void => {
            const rows = document.querySelectorAll(".list:not(.old) [data-index]");
            if (begin > 0 && rows.length === 1 && rows[0]?.textContent?.includes(wanted) === true) {
              requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin), 0));
            } else requestAnimationFrame(look);
          };
          look();
        }),
      `SECRET_${number}`,
    );
    await page.keyboard.type(number.slice(-1));
    times.push(await time);
  }
  return Math.max(...times);
}
