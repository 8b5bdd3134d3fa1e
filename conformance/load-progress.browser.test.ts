import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chooseSize } from "@hearth-and-keep/figures";
import { everyVariant, screenshotFolder, startBrowser, twoVariants } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startSlowServer } from "../apps/hearth/src/test/slow-load.ts";

const variants = chooseSize({ ci: twoVariants.slice(0, 1), show: everyVariant, nightly: everyVariant });

test("a chat that waits for a load shows how much of the model is loaded, and then the response", {
  timeout: 120_000,
}, async () => {
  await using server = await startSlowServer({ milliseconds: 4000, forgets: true });
  await using browser = await startBrowser();
  for (const { width, colorScheme } of variants) {
    const page = await browser.openPage(`${server.url}/ui`, {
      colorScheme,
      viewport: { width, height: 800 },
    });
    const message = page.getByLabel("Message", { exact: true });
    await message.fill("Hi");
    await message.press("Enter");
    const waiting = page.getByText("Loading model, 40 %");
    await waiting.waitFor();
    if (screenshotFolder !== undefined) {
      await mkdir(screenshotFolder, { recursive: true });
      await writeFile(
        join(screenshotFolder, `load-progress-${width}-${colorScheme}.png`),
        await page.screenshot(),
      );
    }
    await page.locator(".response").getByText("Hello").waitFor();
    expect(await waiting.count()).toBe(0);
    await page.close();
  }
});
