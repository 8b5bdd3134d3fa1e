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
import { expect, test } from "vitest";
import { startConsoleFixture } from "./console-fixture.ts";
import { accountStates, signInStates, welcomeStates } from "./every-screen/account-states.ts";
import { approvalStates } from "./every-screen/approval-states.ts";
import { auditStates } from "./every-screen/audit-states.ts";
import { organisationStates } from "./every-screen/organisation-states.ts";
import { operatorStates, ruleStates } from "./every-screen/rule-states.ts";
import { prepareScreenFixture } from "./every-screen/screen-fixture.ts";
import { searchStates } from "./every-screen/search-states.ts";
import { secretListStates, secretStates } from "./every-screen/secrets-states.ts";
import { sharingStates } from "./every-screen/sharing-states.ts";
import { tokenStates } from "./every-screen/token-states.ts";
import { vaultStates } from "./every-screen/vault-states.ts";
import { type ImageComposer, openImageComposer } from "./screenshots.ts";

const states = [
  ...signInStates,
  ...secretListStates,
  ...secretStates,
  ...searchStates,
  ...vaultStates,
  ...tokenStates,
  ...auditStates,
  ...accountStates,
  ...organisationStates,
  ...sharingStates,
  ...approvalStates,
  ...ruleStates,
  ...operatorStates,
  ...welcomeStates,
];
const variants = chooseSize({ ci: twoVariants, show: everyVariant, nightly: everyVariant });
/** Per state. */
const auditCount = chooseSize({ ci: 1, show: 2, nightly: 2 });
const needed = { screenshots: 80 * variants.length, audits: 80 * auditCount };
const maxBytes = 40_000;

/** Those shown in `docs/screens/`. */
const documented = new Set([
  "secrets-list",
  "secret-revealed",
  "token-new",
  "audit-verified",
  "welcome-token",
  "account",
]);

test("every screen and state renders in both themes and widths, none is blank or broken, and axe finds no violations", {
  timeout: 1_200_000,
}, async () => {
  await using fixture = await startConsoleFixture();
  const scene = await prepareScreenFixture(fixture);
  const sheets = new Map<string, Buffer[]>();
  const { problems, screenshots, audits } = await walkScreens({
    states,
    variants,
    alternatesAxe: auditCount === 1,
    scene,
    origin: fixture.url,
    axeSource: axe.source,
    pageFor: async ({ viewer = "owner" }) => scene.pages[viewer],
    keep: async ({ name }, _variant, png) => {
      sheets.set(name, [...(sheets.get(name) ?? []), png]);
    },
  });
  await using composer = await openImageComposer(fixture.browser.browser);
  if (screenshotFolder !== undefined) await saveScreenshots(sheets, composer, screenshotFolder);
  expect(problems).toEqual([]);
  expect({ screenshots, audits }).toEqual({
    screenshots: states.length * variants.length,
    audits: states.length * auditCount,
  });
  const main = await Promise.all([...documented].map((name) => shrink(sheets.get(name) ?? [], composer)));
  expect(main.filter(({ length }) => length > maxBytes)).toEqual([]);
  recordFigure({
    claim: "console 2",
    text: `${screenshots} screenshots of ${states.length} screens and states, none blank, none wider than its window, no error in the console, no policy violation`,
    counted: { reached: screenshots, needed: needed.screenshots },
  });
  recordFigure({
    claim: "console 3",
    text: `axe-core: 0 violations on ${states.length} screens and states, wide and light, narrow and dark`,
    counted: { reached: audits, needed: needed.audits },
  });
});

test("axe finds a violation when there is one", async () => {
  await using chromium = await startBrowser();
  const page = await chromium.openPage("about:blank");
  await page.setContent("<html lang=en><title>x</title><main><h1>x</h1><button></button></main>");
  expect(await findViolations(page, axe.source)).toEqual([expect.stringContaining("button-name")]);
});

/** The wide light and the narrow dark variant, side by side. */
function shrink(pngs: readonly Buffer[], composer: ImageComposer): Promise<Buffer> {
  const chosen = [pngs.at(0), pngs.at(-1)].filter((png) => png !== undefined);
  return composer.compose(chosen, { height: 540, quality: 0.7 });
}

/** Saves all variants of each state in one image, and the documented ones in the size the docs use. */
async function saveScreenshots(
  sheets: ReadonlyMap<string, readonly Buffer[]>,
  composer: ImageComposer,
  folder: string,
): Promise<void> {
  await mkdir(join(folder, "docs"), { recursive: true });
  for (const [name, pngs] of sheets) {
    const sheet = await composer.compose(pngs, { height: 740, quality: 0.85 });
    await writeFile(join(folder, `${name}.webp`), sheet);
    if (documented.has(name))
      await writeFile(join(folder, "docs", `${name}.webp`), await shrink(pngs, composer));
  }
}
