import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { screenshotFolder, startBrowser } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startConsoleStage } from "./console-stage.ts";
import { type Darkroom, openDarkroom, type Region } from "./darkroom.ts";
import { everyState, variants, walkScreens } from "./every-screen/walk-screens.ts";

const leastInk = 0.003;
const mostBytes = 40_000;

/** The main ones, which `docs/screens/` shows. */
const kept = new Set([
  "secrets-list",
  "secret-revealed",
  "token-new",
  "audit-verified",
  "welcome-token",
  "account",
]);

test("every screen and state is there, light and dark, narrow and wide, and none is blank or broken", {
  timeout: 1_200_000,
}, async () => {
  await using stage = await startConsoleStage();
  await using darkroom = await openDarkroom(stage.browser.browser);
  let pictures = 0;
  const sheets = new Map<string, Buffer[]>();
  const troubles = await walkScreens({
    stage,
    seen: variants,
    look: async ({ page, state }) => {
      const png = await page.screenshot({ animations: "disabled" });
      pictures += 1;
      sheets.set(state.name, [...(sheets.get(state.name) ?? []), png]);
      return judge(page, png, darkroom);
    },
  });
  if (screenshotFolder !== undefined) await keepPictures(sheets, darkroom, screenshotFolder);
  expect(troubles).toEqual([]);
  expect(pictures).toBe(everyState.length * variants.length);
  const main = await Promise.all([...kept].map((name) => shrink(sheets.get(name) ?? [], darkroom)));
  expect(main.filter(({ length }) => length > mostBytes)).toEqual([]);
  recordFigure({
    claim: "console 2",
    text: `${pictures} pictures of ${everyState.length} screens and states, none blank, none wider than its window, no error in the console, no breach of the policy`,
    counted: { reached: pictures, needed: 320 },
  });
});

test("a blank screen, and one wider than its window, do not pass", async () => {
  await using chromium = await startBrowser();
  await using darkroom = await openDarkroom(chromium.browser);
  const page = await chromium.openPage("about:blank");
  expect(await judge(page, await page.screenshot(), darkroom)).toEqual([expect.stringContaining("blank")]);
  await page.setContent("<main><h1>Something</h1><pre>wide</pre></main><hr width=3000>");
  expect(await judge(page, await page.screenshot(), darkroom)).toEqual([expect.stringContaining("wider")]);
});

async function judge(page: Page, png: Buffer, darkroom: Darkroom): Promise<readonly string[]> {
  const { region, tooWide } = await page.evaluate((): { region: Region; tooWide: number } => {
    const box = (document.querySelector("main") ?? document.documentElement).getBoundingClientRect();
    const [left, top] = [Math.max(0, box.left), Math.max(0, box.top)];
    const width = Math.min(box.right, innerWidth) - left;
    const height = Math.min(Math.max(box.bottom, top + 100), innerHeight) - top;
    return {
      region: { x: left, y: top, width: Math.floor(width), height: Math.floor(height) },
      tooWide: document.documentElement.scrollWidth - innerWidth,
    };
  });
  const ink = await darkroom.measureInk(png, region);
  return [
    ...(ink < leastInk ? [`blank: ${ink.toFixed(4)} of it is drawn on`] : []),
    ...(tooWide > 0 ? [`${tooWide} px wider than its window`] : []),
  ];
}

/** The wide light one and the narrow dark one, beside each other. */
function shrink(pngs: readonly Buffer[], darkroom: Darkroom): Promise<Buffer> {
  const chosen = [pngs[0], pngs[3]].filter((png) => png !== undefined);
  return darkroom.compose(chosen, { height: 540, quality: 0.7 });
}

/** All variants of each in one picture, and the main ones as small as the documents show them. */
async function keepPictures(
  sheets: ReadonlyMap<string, readonly Buffer[]>,
  darkroom: Darkroom,
  folder: string,
): Promise<void> {
  await mkdir(join(folder, "docs"), { recursive: true });
  for (const [name, pngs] of sheets) {
    const sheet = await darkroom.compose(pngs, { height: 740, quality: 0.85 });
    await writeFile(join(folder, `${name}.webp`), sheet);
    if (kept.has(name)) await writeFile(join(folder, "docs", `${name}.webp`), await shrink(pngs, darkroom));
  }
}
