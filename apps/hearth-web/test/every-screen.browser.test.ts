import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import {
  everyVariant,
  findViolations,
  screenshotFolder,
  startBrowser,
  twoVariants,
  walkScreens,
} from "@hearth-and-keep/test-servers";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { chatStates } from "./every-screen/chat-states.ts";
import { sectionStates } from "./every-screen/section-states.ts";
import { usageStates } from "./every-screen/usage-states.ts";
import { startWebUi } from "./web-ui-fixture.ts";

// The last of the sections leaves a fake clock.
const states = [...chatStates, ...usageStates, ...sectionStates];
const variants = chooseSize({ ci: twoVariants, show: everyVariant, nightly: everyVariant });
/** Per state. */
const auditCount = chooseSize({ ci: 1, show: 2, nightly: 2 });
const needed = { screenshots: 30 * variants.length, audits: 30 * auditCount };

test("every state of every screen renders in both themes and widths, without errors, overflow or axe violations", {
  timeout: 600_000,
}, async () => {
  await using fixture = await startWebUi({ models: { tiny: "tiny-llama.gguf" } });
  const page = await fixture.open();
  const { problems, screenshots, audits } = await walkScreens({
    states,
    variants,
    alternatesAxe: auditCount === 1,
    scene: fixture.url,
    origin: fixture.url,
    axeSource: axe.source,
    pageFor: async () => page,
    leavePage: () => clearStorage(page, fixture.url),
    keep: (state, { width, colorScheme }, png) =>
      saveScreenshot(`${state.name}-${width}-${colorScheme}`, png),
  });
  expect(problems).toEqual([]);
  expect({ screenshots, audits }).toEqual({
    screenshots: states.length * variants.length,
    audits: states.length * auditCount,
  });
  recordFigure({
    claim: "people 5",
    text: `${screenshots} screenshots of ${states.length} screens and states: none blank, none wider than its window, no console error, no CSP violation`,
    counted: { reached: screenshots, needed: needed.screenshots },
  });
  recordFigure({
    claim: "people 6",
    text: `axe-core: 0 violations on ${states.length} screens and states, wide in the light theme and narrow in the dark one`,
    counted: { reached: audits, needed: needed.audits },
  });
});

/** Starts the next state without stored conversations; faster than opening a new browser context. */
async function clearStorage(page: Page, origin: string): Promise<void> {
  await page.goto("about:blank");
  const session = await page.context().newCDPSession(page);
  await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  await session.detach();
}

test("axe reports a button without a name", async () => {
  await using chromium = await startBrowser();
  const page = await chromium.openPage("about:blank");
  await page.setContent("<html lang=en><title>x</title><main><h1>x</h1><button></button></main>");
  expect(await findViolations(page, axe.source)).toEqual([expect.stringContaining("button-name")]);
});

async function saveScreenshot(name: string, png: Buffer): Promise<void> {
  if (screenshotFolder === undefined) return;
  await mkdir(screenshotFolder, { recursive: true });
  await writeFile(join(screenshotFolder, `page-${name}.png`), png);
}
