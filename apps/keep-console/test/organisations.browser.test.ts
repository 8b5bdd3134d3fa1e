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
  memberAccount,
  shareVault,
} from "./team-fixture.ts";

let keep: ConsoleFixture;
let owner: Page;
let member: Page;
/** The first organisation that the owner creates. */
let acme: string;
const flows: string[] = [];

beforeAll(async () => {
  keep = await startConsoleFixture();
  owner = await keep.signIn();
  member = await keep.signIn(memberAccount);
  for (const page of [owner, member]) page.setDefaultTimeout(20_000);
  await owner.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: keep.url });
});

afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "teams 9",
      text: `organisations and members: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 16 },
    });
});

async function openMembers(page: Page, organisation = acme): Promise<void> {
  await page.goto(`${keep.url}/organisations/${organisation}`);
  await page.getByRole("list", { name: "Members" }).waitFor();
}

const rows = (page: Page) => page.getByRole("list", { name: "Members" }).getByRole("listitem");

const sections = (page: Page) => page.getByRole("navigation", { name: "Sections of Acme" });

/** Creates an invitation in the dialog, reads its link and closes the dialog. */
async function invite(page: Page, role: string): Promise<string> {
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await page.getByRole("radio", { name: role }).check();
  await page.getByRole("button", { name: "Create invitation" }).click();
  const dialog = page.getByRole("dialog", { name: "Copy the invitation link now" });
  const link = (await dialog.locator("code").textContent()) ?? "";
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  return link;
}

async function openMenuOf(page: Page, name: string): Promise<readonly string[]> {
  await page.getByRole("button", { name: `More actions for ${name}` }).click();
  const items = page.getByRole("menuitem");
  await items.first().waitFor();
  const labels = await items.allTextContents();
  await page.keyboard.press("Escape");
  await items.first().waitFor({ state: "detached" });
  return labels;
}

test("a person without organisations reads what one is for, and creates one", async () => {
  await owner.goto(`${keep.url}/secrets`);
  await owner.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Organisations" }).click();
  await owner.getByText("An organisation owns vaults that several people use").waitFor();
  flows.push("empty list");
  await owner.getByRole("button", { name: "New organisation" }).click();
  await owner.getByLabel("Name", { exact: true }).fill("Acme");
  await owner.getByRole("button", { name: "Create organisation" }).click();
  await owner.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
  acme = new URL(owner.url()).pathname.split("/")[2] ?? "";
  expect(acme).toMatch(/^[0-9a-f-]{36}$/u);
  await expect.poll(() => rows(owner).first().textContent()).toMatch(/first@example\.comYouOwner/u);
  await owner.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link").click();
  const list = owner.getByRole("list", { name: "Organisations" });
  await expect
    .poll(() => list.getByRole("listitem").allTextContents())
    .toEqual([expect.stringMatching(/^AcmeOwnerCreated just now/u)]);
  flows.push("create an organisation");
});

test("an invitation's link is shown once, and with it another person joins", async () => {
  await openMembers(owner);
  const link = await invite(owner, "Member");
  expect(link).toContain(`${keep.url}/invitation/`);
  expect(await owner.content()).not.toContain(link);
  await owner.getByText("Anyone with the link").waitFor();
  flows.push("invite with a link shown once");
  await member.goto(link);
  await member.getByRole("button", { name: "Join" }).click();
  await member.waitForURL((url) => !url.pathname.startsWith("/invitation"));
  await member.goto(`${keep.url}/organisations`);
  await member.getByRole("link", { name: "Acme" }).click();
  await member.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
  await expect.poll(() => rows(member).count()).toBe(2);
  flows.push("join");
});

test("an invitation for one identity names it, and is revoked", async () => {
  await openMembers(owner);
  await owner.getByRole("button", { name: "Invite", exact: true }).click();
  await owner.getByLabel("Identity (optional)").fill("somebody");
  await owner.getByRole("button", { name: "Create invitation" }).click();
  await owner.getByText("Enter a provider and the subject there, such as code-hosting:12345").waitFor();
  await owner.getByLabel("Identity (optional)").fill("code-hosting:4711");
  await owner.getByRole("button", { name: "Create invitation" }).click();
  await owner.getByRole("button", { name: "Done" }).click();
  flows.push("invite one identity");
  await owner.getByRole("button", { name: "Revoke the invitation for code-hosting:4711" }).click();
  await owner.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await owner.getByText("Invitation revoked").waitFor();
  await expect.poll(() => owner.getByRole("heading", { name: "Open invitations" }).count()).toBe(0);
  flows.push("revoke an invitation");
});

test("a member sees the members and no control that only owners have", async () => {
  await openMembers(member);
  expect(await member.getByRole("button", { name: "Invite", exact: true }).count()).toBe(0);
  expect(await member.getByRole("button", { name: "More actions for first@example.com" }).count()).toBe(0);
  expect(await openMenuOf(member, "fourth@example.com")).toEqual(["Leave…"]);
  expect(await sections(member).getByRole("link").allTextContents()).toEqual([
    "Members",
    "Teams",
    "Vaults",
    "Tokens",
  ]);
  await member.goto(`${keep.url}/organisations/${acme}/settings`);
  await member.getByText("Only owners can change the settings of this organisation").waitFor();
  flows.push("a member sees no controls");
});

test("an owner makes a member an auditor, who then reads the organisation's log", async () => {
  await openMembers(owner);
  await chooseMenuItem(owner, "More actions for fourth@example.com", "Change role…");
  await owner.getByRole("radio", { name: "Auditor" }).check();
  await owner.getByRole("button", { name: "Change role", exact: true }).click();
  await owner.getByText("fourth@example.com is now an auditor").waitFor();
  await expect.poll(() => rows(owner).last().textContent()).toContain("Auditor");
  flows.push("change a role");
  await member.goto(`${keep.url}/organisations/${acme}`);
  await sections(member).getByRole("link", { name: "Audit" }).click();
  await member.getByText("first@example.com changed the role of fourth@example.com to auditor").waitFor();
  expect(new URL(member.url()).pathname).toBe(`/organisations/${acme}/audit`);
  flows.push("an auditor reads the log");
});

test("a change of role after a long lunch asks to sign in again, returns, and then works", async () => {
  await openMembers(owner);
  keep.setSignInTime("now() - interval '1 hour'");
  await chooseMenuItem(owner, "More actions for fourth@example.com", "Change role…");
  await owner.getByRole("radio", { name: "Member" }).check();
  await owner.getByRole("button", { name: "Change role", exact: true }).click();
  await owner.getByText("Sign in again to change roles").waitFor();
  expect(await owner.getByRole("button", { name: "Change role", exact: true }).isDisabled()).toBe(true);
  await owner.getByRole("button", { name: "Sign in again with Example" }).click();
  await owner.getByRole("textbox", { name: "Account" }).fill("first@example.com");
  await owner.getByRole("button", { name: "Sign in" }).click();
  await owner.getByRole("list", { name: "Members" }).waitFor();
  expect(new URL(owner.url()).pathname).toBe(`/organisations/${acme}`);
  await chooseMenuItem(owner, "More actions for fourth@example.com", "Change role…");
  await owner.getByRole("radio", { name: "Member" }).check();
  await owner.getByRole("button", { name: "Change role", exact: true }).click();
  await owner.getByText("fourth@example.com is now a member").waitFor();
  keep.setSignInTime("now()");
  flows.push("sign in again");
});

test("the last owner can neither leave nor become a member, and reads why", async () => {
  await openMembers(owner);
  await chooseMenuItem(owner, "More actions for first@example.com", "Leave…");
  await owner.getByRole("button", { name: "Leave", exact: true }).click();
  await owner.getByText("Make another member an owner first, or delete the organisation").waitFor();
  await owner.keyboard.press("Escape");
  await owner.getByRole("dialog").waitFor({ state: "detached" });
  await chooseMenuItem(owner, "More actions for first@example.com", "Change role…");
  await owner.getByRole("radio", { name: "Member" }).check();
  await owner.getByRole("button", { name: "Change role", exact: true }).click();
  await owner.getByText("The organisation would have no owner").waitFor();
  await owner.keyboard.press("Escape");
  await expect.poll(() => rows(owner).first().textContent()).toContain("Owner");
  flows.push("the last owner stays");
});

test("an owner who lost the role while the page was open reads that it does not allow this", async () => {
  const person = await accountOf(keep, member);
  const path = `/api/organisations/${acme}/members/${person}`;
  await keep.request(owner, path, { method: "PATCH", body: { role: "owner" } });
  await openMembers(member);
  await member.getByRole("button", { name: "Invite", exact: true }).click();
  await keep.request(owner, path, { method: "PATCH", body: { role: "member" } });
  await member.getByRole("button", { name: "Create invitation" }).click();
  await member.getByText("does not allow this").waitFor();
  expect(await member.getByRole("button", { name: "Done" }).count()).toBe(0);
  flows.push("refused without the role");
});

test("someone who is no member reads that the organisation is not found", async () => {
  const stranger = await keep.signIn(secondAccount);
  await stranger.goto(`${keep.url}/organisations/${acme}/teams`);
  await stranger.getByText("It may be deleted, or you may not be a member of it").waitFor();
  expect(await stranger.content()).not.toContain("Acme");
  await stranger.context().close();
  flows.push("not a member");
});

test("removing a member lists the secrets whose current value they have read, also afterwards", async () => {
  const secrets = { "prod/KEY": "one", "prod/OTHER": "two", "dev/KEY": "three" };
  const vault = await createSharedVault(keep, { organisation: acme, owner, name: "Payments", secrets });
  const person = await accountOf(keep, member);
  await shareVault(keep, { vault, owner, holder: { type: "person", id: person }, role: "reader" });
  for (const path of ["prod/KEY", "prod/OTHER"])
    await keep.request(member, `/api/secrets/vaults/${vault}/values/by-path/${path}`);
  // A value that was replaced since needs no replacement.
  const replaced = `/api/secrets/vaults/${vault}/secrets/by-path/prod/OTHER`;
  await keep.request(owner, replaced, { method: "PUT", body: { value: "new" } });
  await openMembers(owner);
  await chooseMenuItem(owner, "More actions for fourth@example.com", "Remove…");
  const list = owner.getByRole("list", { name: "Secrets to replace" });
  await expect.poll(() => list.getByRole("link").allTextContents()).toEqual(["/prod/KEY"]);
  expect(await list.getByRole("link").getAttribute("href")).toContain(
    `/secrets/${vault}?folder=%2Fprod&secret=`,
  );
  await owner.getByRole("button", { name: "Copy list of secrets" }).click();
  await expect.poll(() => owner.evaluate(() => navigator.clipboard.readText())).toBe("Payments\t/prod/KEY");
  flows.push("see what a member has read");
  await owner.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await owner.getByRole("dialog", { name: "fourth@example.com was removed" }).waitFor();
  expect(await list.getByRole("link").allTextContents()).toEqual(["/prod/KEY"]);
  await owner.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => rows(owner).count()).toBe(1);
  await member.goto(`${keep.url}/secrets/${vault}`);
  await member.getByText("Vault not found").waitFor();
  flows.push("remove a member");
});

test("a member leaves, and the organisation is gone from their list", async () => {
  await addMember(keep, { organisation: acme, owner, person: member });
  await openMembers(member);
  await chooseMenuItem(member, "More actions for fourth@example.com", "Leave…");
  await member.getByText("To come back, you need a new invitation").waitFor();
  await member.getByRole("button", { name: "Leave", exact: true }).click();
  await member.getByText("You left Acme").waitFor();
  await member.getByText("No organisations yet").waitFor();
  expect(new URL(member.url()).pathname).toBe("/organisations");
  flows.push("leave");
});

test("on a phone an organisation is created and somebody invited without scrolling sideways", async () => {
  const page = await keep.signIn(undefined, { viewport: { width: 390, height: 844 } });
  page.setDefaultTimeout(20_000);
  const isTooWide = () => page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  await page.goto(`${keep.url}/organisations`);
  await page.getByRole("button", { name: "New organisation" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Pocket");
  await page.getByRole("button", { name: "Create organisation" }).click();
  await page.getByRole("heading", { name: "Pocket", level: 1 }).waitFor();
  expect(await isTooWide()).toBe(false);
  await invite(page, "Auditor");
  await page.getByText("Open invitations").waitFor();
  expect(await isTooWide()).toBe(false);
  const current = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Organisations" });
  const box = await current.boundingBox();
  expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= 390).toBe(true);
  await page.context().close();
  flows.push("on a phone");
});

test("an unreachable server is reported, and Try again recovers", async () => {
  await createOrganisation(keep, owner, "Second");
  await owner.route("**/api/organisations", (route) => route.abort());
  await owner.goto(`${keep.url}/organisations`);
  await owner.getByText("Cannot reach Keep").waitFor();
  await owner.unroute("**/api/organisations");
  await owner.getByRole("button", { name: "Try again" }).click();
  await owner.getByRole("link", { name: "Second" }).waitFor();
  expect(await owner.getByText("Cannot reach Keep").count()).toBe(0);
  flows.push("unreachable server");
});
