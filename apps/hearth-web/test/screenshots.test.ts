import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { screenshotFolder, startBrowser } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { everyState, variants, walkScreens } from "./every-screen/walk-screens.ts";
import { startPageStage } from "./page-stage.ts";

const leastInk = 0.003;
const neededPictures = 112;

test("every screen and state is there, light and dark, narrow and wide, and none is blank or broken", {
  timeout: 600_000,
}, async () => {
  await using stage = await startPageStage({ models: { tiny: "tiny-llama.gguf" } });
  const easel = await stage.browser.openPage("about:blank");
  let pictures = 0;
  const troubles = await walkScreens({
    stage,
    seen: variants,
    look: async ({ page, state, variant }) => {
      const png = await page.screenshot({ animations: "disabled" });
      pictures += 1;
      await keepPicture(`${state.name}-${variant.width}-${variant.colorScheme}`, png);
      return judge(page, png, easel);
    },
  });
  expect(troubles).toEqual([]);
  expect(pictures).toBe(everyState.length * variants.length);
  recordFigure({
    claim: "people 5",
    text: `${pictures} pictures of ${everyState.length} screens and states, none blank, none wider than its window, no error in the console, no breach of the policy`,
    counted: { reached: pictures, needed: neededPictures },
  });
});

test("a blank screen, and one wider than its window, do not pass", async () => {
  await using chromium = await startBrowser();
  const page = await chromium.openPage("about:blank");
  const easel = await chromium.openPage("about:blank");
  expect(await judge(page, await page.screenshot(), easel)).toEqual([expect.stringContaining("blank")]);
  await page.setContent("<main><h1>Something</h1><pre>wide</pre></main><hr width=3000>");
  expect(await judge(page, await page.screenshot(), easel)).toEqual([expect.stringContaining("wider")]);
});

async function judge(page: Page, png: Buffer, easel: Page): Promise<readonly string[]> {
  const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const ink = await measureInk(easel, png);
  return [
    ...(ink < leastInk ? [`blank: ${ink.toFixed(4)} of it is drawn on`] : []),
    ...(tooWide > 0 ? [`${tooWide} px wider than its window`] : []),
  ];
}

/** How much of a picture below its bar is not its most frequent colour, from 0 to 1; the browser itself counts. */
function measureInk(easel: Page, png: Buffer): Promise<number> {
  return easel.evaluate(async (text) => {
    const blob = await (await fetch(`data:image/png;base64,${text}`)).blob();
    const picture = await createImageBitmap(blob);
    const bar = 60;
    const canvas = new OffscreenCanvas(picture.width, picture.height - 2 * bar);
    const pen = canvas.getContext("2d");
    pen?.drawImage(picture, 0, -bar);
    const bytes = pen?.getImageData(0, 0, canvas.width, canvas.height).data.buffer;
    const pixels = new Uint32Array(bytes ?? new ArrayBuffer(4));
    const counts = new Map<number, number>();
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
    return 1 - Math.max(...counts.values()) / pixels.length;
  }, png.toString("base64"));
}

async function keepPicture(name: string, png: Buffer): Promise<void> {
  if (screenshotFolder === undefined) return;
  await mkdir(screenshotFolder, { recursive: true });
  await writeFile(join(screenshotFolder, `page-${name}.png`), png);
}
