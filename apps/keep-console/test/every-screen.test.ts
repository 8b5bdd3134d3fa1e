import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { findViolations, screenshotFolder, startBrowser, walkScreens } from "@hearth-and-keep/test-servers";
import axe from "axe-core";
import { expect, test } from "vitest";
import { startConsoleStage } from "./console-fixture.ts";
import { accountStates, signInStates, welcomeStates } from "./every-screen/account-states.ts";
import { auditStates } from "./every-screen/audit-states.ts";
import { prepareScene } from "./every-screen/scene.ts";
import { secretListStates, secretStates, vaultStates } from "./every-screen/secrets-states.ts";
import { tokenStates } from "./every-screen/token-states.ts";
import { type Darkroom, openDarkroom } from "./screenshots.ts";

const states = [
  ...signInStates,
  ...secretListStates,
  ...secretStates,
  ...vaultStates,
  ...tokenStates,
  ...auditStates,
  ...accountStates,
  ...welcomeStates,
];
const needed = { pictures: 320, looks: 160 };
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

test("every screen and state is there, light and dark, narrow and wide, none is blank or broken, and axe finds nothing", {
  timeout: 1_200_000,
}, async () => {
  await using stage = await startConsoleStage();
  const scene = await prepareScene(stage);
  const sheets = new Map<string, Buffer[]>();
  const { troubles, pictures, looks } = await walkScreens({
    states,
    scene,
    origin: stage.url,
    axeSource: axe.source,
    pageFor: async ({ looker = "owner" }) => scene.pages[looker],
    keep: async ({ name }, _variant, png) => {
      sheets.set(name, [...(sheets.get(name) ?? []), png]);
    },
  });
  await using darkroom = await openDarkroom(stage.browser.browser);
  if (screenshotFolder !== undefined) await keepPictures(sheets, darkroom, screenshotFolder);
  expect(troubles).toEqual([]);
  expect({ pictures, looks }).toEqual({ pictures: states.length * 4, looks: states.length * 2 });
  const main = await Promise.all([...kept].map((name) => shrink(sheets.get(name) ?? [], darkroom)));
  expect(main.filter(({ length }) => length > mostBytes)).toEqual([]);
  recordFigure({
    claim: "console 2",
    text: `${pictures} pictures of ${states.length} screens and states, none blank, none wider than its window, no error in the console, no breach of the policy`,
    counted: { reached: pictures, needed: needed.pictures },
  });
  recordFigure({
    claim: "console 3",
    text: `axe-core: 0 violations on ${states.length} screens and states, wide and light, narrow and dark`,
    counted: { reached: looks, needed: needed.looks },
  });
});

test("axe finds what is wrong", async () => {
  await using chromium = await startBrowser();
  const page = await chromium.openPage("about:blank");
  await page.setContent("<html lang=en><title>x</title><main><h1>x</h1><button></button></main>");
  expect(await findViolations(page, axe.source)).toEqual([expect.stringContaining("button-name")]);
});

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
