import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { chooseMenuItem, createVault, writeSecret } from "./every-screen/screen-fixture.ts";

let keep: ConsoleFixture;
let page: Page;
const flows: string[] = [];

beforeAll(async () => {
  keep = await startConsoleFixture();
  page = await keep.signIn();
  page.setDefaultTimeout(20_000);
});

afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "teams 9",
      text: `environments: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 8 },
    });
});

const values = {
  "base/REGION": "canary-region",
  "dev/HOST": "canary-dev",
  "staging/HOST": "canary-host",
  "prod/HOST": "canary-old1",
  "staging/api/KEY": "canary-key",
  "staging/FLAG": "canary-flag",
  "prod/FLAG": "canary-flag",
};

/** A vault with three environments and a base. */
async function openEnvironments(name: string, target = page): Promise<string> {
  const vault = await createVault(keep, target, name);
  for (const [path, value] of Object.entries(values))
    await writeSecret({ keep, page: target, vault }, path, { value });
  const body = { environments: ["dev", "staging", "prod"], base: "/base" };
  await keep.request(target, `/api/secrets/vaults/${vault}`, { method: "PATCH", body });
  await target.goto(`${keep.url}/secrets/${vault}/environments`);
  await target.getByRole("rowheader", { name: "HOST" }).waitFor();
  return vault;
}

async function readValue(vault: string, path: string): Promise<string> {
  const url = `/api/secrets/vaults/${vault}/values/by-path/${path}`;
  return (await keep.request<{ value: string }>(page, url)).value;
}

/** The text of each cell of a row, without the name. */
function cells(name: string, target = page): Promise<readonly string[]> {
  const row = target.getByRole("row").filter({ has: target.getByRole("rowheader", { name, exact: true }) });
  return row.getByRole("cell").allTextContents();
}

test("environments are named in the vault's settings, and then shown side by side", async () => {
  const vault = await createVault(keep, page, "Named");
  await writeSecret({ keep, page, vault }, "dev/HOST", { value: "x" });
  await page.goto(`${keep.url}/secrets/${vault}`);
  await chooseMenuItem(page, "More vault actions", "Environments");
  await page.getByText("No environments yet").waitFor();
  await page.getByRole("button", { name: "Vault settings" }).click();
  await page.getByLabel("Environments", { exact: true }).fill("dev, /prod/, dev");
  await page.getByLabel("Base folder").fill("base");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("rowheader", { name: "HOST" }).waitFor();
  expect(await page.getByRole("columnheader").allTextContents()).toEqual(["Name", "dev", "prod"]);
  expect(await cells("HOST")).toEqual(["Set", "Missing"]);
  flows.push("name environments");
});

test("each cell says whether a name is set, inherited or missing, and no value is in the page", async () => {
  await openEnvironments("Matrix");
  expect(await cells("HOST")).toEqual(["Set", "Set", "Set"]);
  expect(await cells("REGION")).toEqual(["Inherited", "Inherited", "Inherited"]);
  expect(await cells("api/KEY")).toEqual(["Missing", "Set", "Missing"]);
  await page.getByText("4 names, 2 of them with missing values").waitFor();
  flows.push("see what is missing");
  await page.getByRole("checkbox", { name: "Only names with missing values" }).check();
  expect(await page.getByRole("rowheader").allTextContents()).toEqual(["FLAG", "api/KEY"]);
  flows.push("filter by missing values");
  expect(await page.content()).not.toContain("canary");
  await page.getByRole("link", { name: "Set: open FLAG of prod" }).click();
  await page.getByRole("dialog", { name: "FLAG" }).getByText("/prod/FLAG").waitFor();
  flows.push("open a secret from its cell");
});

test("two environments are compared on request, without values", async () => {
  await openEnvironments("Comparison");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  const groups = page.locator("details");
  await groups.first().waitFor();
  expect((await groups.allTextContents()).map((text) => text.trim())).toEqual([
    "Different values (1)HOST",
    "Only in staging (1)api/KEY",
    "Same values (2)FLAGREGION inherited by both",
  ]);
  expect(await page.content()).not.toContain("canary");
  await page.getByLabel("With", { exact: true }).selectOption("staging");
  expect(await page.getByRole("button", { name: "Compare", exact: true }).isDisabled()).toBe(true);
  flows.push("compare two environments");
});

test("a promotion shows what would change, takes what is chosen, and leaves the rest", async () => {
  const vault = await openEnvironments("Promotion");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.getByRole("button", { name: "Promote staging to prod…" }).click();
  const dialog = page.getByRole("dialog", { name: "Promote staging to prod" });
  await dialog.getByText("1 secret has the same value already").waitFor();
  await dialog.getByRole("checkbox", { name: "/prod/HOST" }).uncheck();
  await dialog.getByRole("button", { name: "Promote 1 secret" }).click();
  await page.getByText("Promoted 1 secret to prod").waitFor();
  await expect.poll(() => cells("api/KEY")).toEqual(["Missing", "Set", "Set"]);
  expect(await readValue(vault, "prod/api/KEY")).toBe("canary-key");
  expect(await readValue(vault, "prod/HOST")).toBe("canary-old1");
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Compare");
  flows.push("promote some values");
});

test("a promotion is refused when the vault has changed since the preview, and works after another look", async () => {
  const vault = await openEnvironments("Changed meanwhile");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.getByRole("button", { name: "Promote staging to prod…" }).click();
  const dialog = page.getByRole("dialog", { name: "Promote staging to prod" });
  await dialog.getByRole("checkbox", { name: "/prod/HOST" }).waitFor();
  await writeSecret({ keep, page, vault }, "prod/HOST", { value: "changed by somebody" });
  await dialog.getByRole("button", { name: "Promote 2 secrets" }).click();
  await dialog.getByText("The vault changed since the preview. Nothing was promoted").waitFor();
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByText("The vault changed since the preview").waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: "Promote 2 secrets" }).click();
  await page.getByText("Promoted 2 secrets to prod").waitFor();
  expect(await readValue(vault, "prod/HOST")).toBe("canary-host");
  flows.push("a changed vault");
});

test("on a phone the table scrolls inside its frame, and a promotion can be made", async () => {
  const phone = await keep.signIn(undefined, { viewport: { width: 390, height: 844 } });
  phone.setDefaultTimeout(20_000);
  await openEnvironments("In the pocket", phone);
  expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await phone.getByRole("button", { name: "Compare", exact: true }).click();
  await phone.getByRole("button", { name: "Promote staging to prod…" }).click();
  await phone.getByRole("button", { name: "Promote 2 secrets" }).click();
  await phone.getByText("Promoted 2 secrets to prod").waitFor();
  await phone.context().close();
  flows.push("on a phone");
});
