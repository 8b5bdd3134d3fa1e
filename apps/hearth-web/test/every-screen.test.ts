import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { findViolations, screenshotFolder, startBrowser, walkScreens } from "@hearth-and-keep/test-servers";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { chatStates } from "./every-screen/chat-states.ts";
import { placeStates } from "./every-screen/place-states.ts";
import { startPageStage } from "./page-fixture.ts";

const states = [...chatStates, ...placeStates];
const needed = { pictures: 120, looks: 60 };

test("every screen and state is there, light and dark, narrow and wide, none is blank or broken, and axe finds nothing", {
  timeout: 600_000,
}, async () => {
  await using stage = await startPageStage({ models: { tiny: "tiny-llama.gguf" } });
  const page = await stage.open();
  const { troubles, pictures, looks } = await walkScreens({
    states,
    scene: stage.url,
    origin: stage.url,
    axeSource: axe.source,
    pageFor: async () => page,
    leavePage: () => forgetVisitor(page, stage.url),
    keep: (state, { width, colorScheme }, png) => keepPicture(`${state.name}-${width}-${colorScheme}`, png),
  });
  expect(troubles).toEqual([]);
  expect({ pictures, looks }).toEqual({ pictures: states.length * 4, looks: states.length * 2 });
  recordFigure({
    claim: "people 5",
    text: `${pictures} pictures of ${states.length} screens and states, none blank, none wider than its window, no error in the console, no breach of the policy`,
    counted: { reached: pictures, needed: needed.pictures },
  });
  recordFigure({
    claim: "people 6",
    text: `axe-core: 0 violations on ${states.length} screens and states, wide and light, narrow and dark`,
    counted: { reached: looks, needed: needed.looks },
  });
});

/** What was asked is kept in the browser. The next one is a new visitor, without the second that a new window takes. */
async function forgetVisitor(page: Page, origin: string): Promise<void> {
  await page.goto("about:blank");
  const session = await page.context().newCDPSession(page);
  await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  await session.detach();
}

test("axe finds what is wrong", async () => {
  await using chromium = await startBrowser();
  const page = await chromium.openPage("about:blank");
  await page.setContent("<html lang=en><title>x</title><main><h1>x</h1><button></button></main>");
  expect(await findViolations(page, axe.source)).toEqual([expect.stringContaining("button-name")]);
});

async function keepPicture(name: string, png: Buffer): Promise<void> {
  if (screenshotFolder === undefined) return;
  await mkdir(screenshotFolder, { recursive: true });
  await writeFile(join(screenshotFolder, `page-${name}.png`), png);
}
