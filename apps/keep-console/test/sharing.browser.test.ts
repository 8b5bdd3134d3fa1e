import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, secondAccount, startConsoleFixture } from "./console-fixture.ts";
import { chooseMenuItem } from "./every-screen/screen-fixture.ts";
import {
  accountOf,
  addMember,
  createOrganisation,
  createSharedVault,
  createTeam,
  memberAccount,
  shareVault,
} from "./team-fixture.ts";

let keep: ConsoleFixture;
let owner: Page;
let member: Page;
let memberId: string;
let acme: string;
const flows: string[] = [];

beforeAll(async () => {
  keep = await startConsoleFixture();
  owner = await keep.signIn();
  member = await keep.signIn(memberAccount);
  for (const page of [owner, member]) page.setDefaultTimeout(20_000);
  acme = await createOrganisation(keep, owner, "Acme");
  memberId = await addMember(keep, { organisation: acme, owner, person: member });
  await createTeam(keep, { organisation: acme, owner, name: "Backend", members: [memberId] });
});

afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "teams 9",
      text: `sharing, two people: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 14 },
    });
});

const secrets = { "prod/DATABASE_URL": "postgres://prod", "dev/DATABASE_URL": "postgres://dev" };

/** A new vault of the organisation with two secrets. */
function createVault(name: string): Promise<string> {
  return createSharedVault(keep, { organisation: acme, owner, name, secrets });
}

/** Opens the panel and the dialog for sharing. */
async function openShare(page: Page, vault: string): Promise<void> {
  await page.goto(`${keep.url}/secrets/${vault}`);
  await page.getByRole("button", { name: "Access", exact: true }).click();
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByRole("dialog", { name: /^Share/u }).waitFor();
}

async function submitShare(page: Page): Promise<void> {
  const dialog = page.getByRole("dialog", { name: /^Share/u });
  await dialog.getByRole("button", { name: "Share", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

const access = (page: Page) => page.getByRole("list", { name: "Access" }).locator(":scope > li");

test("a vault is shared with a team, whose member then reads a value in the console", async () => {
  const vault = await createVault("Team vault");
  await member.goto(`${keep.url}/secrets/${vault}`);
  await member.getByText("Vault not found").waitFor();
  flows.push("not shared, not found");
  await openShare(owner, vault);
  await owner.getByLabel("Share with").selectOption({ label: "Backend" });
  await submitShare(owner);
  await owner.getByText("Team vault shared").waitFor();
  await expect.poll(() => access(owner).last().textContent()).toMatch(/BackendTeamReaderWhole vault/u);
  flows.push("share with a team");
  await member.goto(`${keep.url}/secrets/${vault}?folder=/prod`);
  await member.getByRole("link", { name: "DATABASE_URL", exact: true }).click();
  await member.getByRole("button", { name: "Reveal" }).click();
  await member.getByText("postgres://prod").waitFor();
  await member.getByText(/by first@example\.com/u).waitFor();
  flows.push("a team's member reads a value");
});

test("a reader sees no control that writes, shares or changes settings", async () => {
  const vault = await createVault("Read only");
  await shareVault(keep, { vault, owner, holder: { type: "person", id: memberId }, role: "reader" });
  await member.goto(`${keep.url}/secrets/${vault}`);
  await member.getByRole("row").nth(1).waitFor();
  expect(await member.getByRole("button", { name: /New secret|^Access$/u }).count()).toBe(0);
  await member.getByRole("button", { name: "More vault actions" }).click();
  const items = member.getByRole("menuitem");
  await items.first().waitFor();
  expect(await items.allTextContents()).toEqual(["Export…", "Environments", "Recently deleted"]);
  await member.keyboard.press("Escape");
  await member.goto(`${keep.url}/secrets/${vault}?folder=/dev`);
  await member.getByRole("button", { name: "More actions for DATABASE_URL" }).click();
  await items.first().waitFor();
  expect(await items.allTextContents()).toEqual(["Open", "Copy value"]);
  await member.keyboard.press("Escape");
  await member.goto(`${keep.url}/secrets/${vault}?open=access`);
  await member.getByText("Only managers of this vault and owners of the organisation").waitFor();
  flows.push("a reader sees no controls");
});

test("a person may edit one folder only, and sees its controls there alone", async () => {
  const vault = await createVault("By folder");
  await shareVault(keep, { vault, owner, holder: { type: "person", id: memberId }, role: "reader" });
  await openShare(owner, vault);
  await owner.getByLabel("Share with").selectOption({ label: "fourth@example.com" });
  await owner.getByRole("radio", { name: "Editor" }).check();
  await owner.getByRole("checkbox", { name: "Only some paths" }).check();
  await owner.getByLabel("Paths", { exact: true }).fill("/dev/**");
  await owner.getByText("/dev/**: everything in /dev").waitFor();
  await submitShare(owner);
  await expect
    .poll(() => access(owner).last().textContent())
    .toMatch(/fourth@example\.comEditor\/dev\/\*\*/u);
  flows.push("share some paths");
  const items = member.getByRole("menuitem");
  for (const [folder, labels] of [
    ["dev", ["Open", "Copy value", "Move or rename…", "Delete…"]],
    ["prod", ["Open", "Copy value"]],
  ] as const) {
    await member.goto(`${keep.url}/secrets/${vault}?folder=/${folder}`);
    await member.getByRole("button", { name: "More actions for DATABASE_URL" }).click();
    await items.first().waitFor();
    expect(await items.allTextContents()).toEqual(labels);
    await member.keyboard.press("Escape");
  }
  await member.getByRole("button", { name: "New secret" }).click();
  await member.getByRole("textbox", { name: "Name", exact: true }).fill("FRESH");
  await member.getByRole("textbox", { name: "Value" }).fill("x");
  await member.getByRole("button", { name: "Save" }).click();
  await member.getByRole("alert").waitFor();
  flows.push("a write elsewhere is refused in words");
});

test("who can read a path is answered, for a path that is shared and for one that is not", async () => {
  const vault = await createVault("Questions");
  await shareVault(keep, {
    vault,
    owner,
    holder: { type: "person", id: memberId },
    role: "reader",
    paths: ["/dev/*"],
  });
  await owner.goto(`${keep.url}/secrets/${vault}?open=access`);
  const readers = owner.getByRole("list", { name: "Readers" }).getByRole("listitem");
  const check = async (path: string): Promise<void> => {
    await owner.getByLabel("Path of a secret").fill(path);
    await owner.getByRole("button", { name: "Check" }).click();
  };
  await check("dev");
  await owner.getByText("Enter the path of a secret").waitFor();
  await check("/dev/DATABASE_URL");
  await expect
    .poll(() => readers.allTextContents())
    .toEqual(["first@example.com (manager)", "fourth@example.com (reader)"]);
  await check("/prod/DATABASE_URL");
  await expect.poll(() => readers.allTextContents()).toEqual(["first@example.com (manager)"]);
  flows.push("who can read a path");
});

test("removed access is in force at the next click of the person who had it", async () => {
  const vault = await createVault("Short visit");
  await shareVault(keep, { vault, owner, holder: { type: "person", id: memberId }, role: "reader" });
  await member.goto(`${keep.url}/secrets/${vault}?folder=/dev`);
  await member.getByRole("link", { name: "DATABASE_URL", exact: true }).click();
  await member.getByRole("button", { name: "Reveal" }).waitFor();
  await owner.goto(`${keep.url}/secrets/${vault}?open=access`);
  await owner.getByRole("button", { name: "Remove the access of fourth@example.com as reader" }).click();
  await owner.getByText("Values that were read before may have been copied").waitFor();
  await owner.getByRole("button", { name: "Remove access" }).click();
  await owner.getByText("Access of fourth@example.com removed").waitFor();
  await expect.poll(() => access(owner).count()).toBe(1);
  await member.getByRole("button", { name: "Reveal" }).click();
  await member.getByRole("alert").waitFor();
  expect(await member.content()).not.toContain("postgres://dev");
  flows.push("remove access");
});

test("sharing after a long lunch asks to sign in again, and says with what it went wrong otherwise", async () => {
  const vault = await createVault("After lunch");
  await openShare(owner, vault);
  const dialog = owner.getByRole("dialog", { name: "Share After lunch" });
  await dialog.getByRole("button", { name: "Share", exact: true }).click();
  await dialog.getByText("Choose with whom to share the vault").waitFor();
  keep.setSignInTime("now() - interval '1 hour'");
  await dialog.getByLabel("Share with").selectOption({ label: "Backend" });
  await dialog.getByRole("button", { name: "Share", exact: true }).click();
  await dialog.getByText("Sign in again to share vaults").waitFor();
  keep.setSignInTime("now()");
  flows.push("sign in again to share");
  await openShare(owner, vault);
  await owner.getByLabel("Share with").selectOption({ label: "first@example.com" });
  await owner.getByRole("radio", { name: "Manager" }).check();
  await dialog.getByRole("button", { name: "Share", exact: true }).click();
  await dialog.getByText("There is such a grant already").waitFor();
  const { items } = await keep.request<{ items: object[] }>(owner, `/api/secrets/vaults/${vault}/grants`);
  expect(items).toHaveLength(1);
  flows.push("a repeated grant is refused");
});

test("an owner without a share sees that, and shares the vault with themselves", async () => {
  const { id } = await keep.request<{ id: string }>(member, `/api/organisations/${acme}/vaults`, {
    method: "POST",
    body: { name: "Of a member" },
  });
  await owner.goto(`${keep.url}/secrets/${id}`);
  await owner.getByText("This vault is not shared with you").waitFor();
  expect(await owner.getByRole("button", { name: "New secret" }).count()).toBe(0);
  await owner.getByRole("button", { name: "See who has access" }).click();
  await owner.getByRole("button", { name: "Share", exact: true }).click();
  await owner.getByLabel("Share with").selectOption({ label: "first@example.com" });
  await submitShare(owner);
  await owner.keyboard.press("Escape");
  await owner.getByText("No secrets yet").waitFor();
  flows.push("an owner shares with themselves");
  await owner.goto(`${keep.url}/audit?vault=${id}`);
  await owner.getByText("made first@example.com reader of the vault").waitFor();
  flows.push("the log says so");
});

test("the vault switcher lists one's own vaults, and those of each organisation under its name", async () => {
  const vault = await createVault("Switched to");
  await shareVault(keep, { vault, owner, holder: { type: "person", id: memberId }, role: "editor" });
  await member.goto(`${keep.url}/secrets`);
  await member.getByRole("button", { name: "Vault Personal" }).click();
  const group = member.getByRole("group", { name: "Acme" });
  await group.getByRole("menuitem", { name: "Switched to" }).waitFor();
  expect(await group.getByRole("menuitem", { name: "Personal" }).count()).toBe(0);
  await group.getByRole("menuitem", { name: "Switched to" }).click();
  await member.getByRole("button", { name: "Vault Switched to" }).waitFor();
  expect(new URL(member.url()).pathname).toBe(`/secrets/${vault}`);
  await member.getByRole("button", { name: "New secret" }).waitFor();
  flows.push("switch to a shared vault");
  const stranger = await keep.signIn(secondAccount);
  await stranger.goto(`${keep.url}/secrets`);
  await stranger.getByRole("button", { name: "Vault Personal" }).click();
  await stranger.getByRole("menuitem", { name: "New vault…" }).waitFor();
  expect(await stranger.getByRole("group").count()).toBe(0);
  await stranger.context().close();
  flows.push("no groups without organisations");
});

test("on a phone a vault is shared and the access is removed again", async () => {
  const vault = await createVault("In the pocket");
  const page = await keep.signIn(undefined, { viewport: { width: 390, height: 844 } });
  page.setDefaultTimeout(20_000);
  await page.goto(`${keep.url}/secrets/${vault}`);
  await chooseMenuItem(page, "Vault In the pocket", "Access…");
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByLabel("Share with").selectOption({ label: "Backend" });
  await submitShare(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.getByRole("button", { name: "Remove the access of Backend as reader" }).click();
  await page.getByRole("button", { name: "Remove access" }).click();
  await expect.poll(() => access(page).count()).toBe(1);
  expect(await accountOf(keep, page)).toBe(await accountOf(keep, owner));
  await page.context().close();
  flows.push("on a phone");
});
