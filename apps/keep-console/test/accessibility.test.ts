import { recordFigure } from "@hearth-and-keep/figures";
import { startBrowser } from "@hearth-and-keep/test-servers";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startConsoleStage } from "./console-stage.ts";
import { everyState, variants, walkScreens } from "./every-screen/walk-screens.ts";

/** The wide light one and the narrow dark one. */
const seen = [variants[0], variants[3]];

test("axe finds nothing on any screen in any state", { timeout: 1_200_000 }, async () => {
  await using stage = await startConsoleStage();
  let looks = 0;
  const troubles = await walkScreens({
    stage,
    seen,
    look: async ({ page }) => {
      looks += 1;
      return violationsOn(page);
    },
  });
  expect(troubles).toEqual([]);
  expect(looks).toBe(everyState.length * seen.length);
  recordFigure({
    claim: "console 3",
    text: `axe-core: 0 violations on ${everyState.length} screens and states, wide and light, narrow and dark`,
    counted: { reached: looks, needed: 160 },
  });
});

test("axe finds what is wrong", async () => {
  await using chromium = await startBrowser();
  const page = await chromium.openPage("about:blank");
  await page.setContent("<html lang=en><title>x</title><main><h1>x</h1><button></button></main>");
  expect(await violationsOn(page)).toEqual([expect.stringContaining("button-name")]);
});

async function violationsOn(page: Page): Promise<readonly string[]> {
  // Not by a script element: the page's policy holds here as well.
  await page.evaluate(`if (!("axe" in window)) { ${axe.source} }`);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) =>
      id + ": " + html.slice(0, 160) + " " + failureSummary)))`);
}
