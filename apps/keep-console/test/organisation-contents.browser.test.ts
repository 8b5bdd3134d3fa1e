import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { chooseMenuItem } from "./every-screen/screen-fixture.ts";
import { addMember, createOrganisation, createTeam, memberAccount } from "./team-fixture.ts";

let keep: ConsoleFixture;
let owner: Page;
let member: Page;
let acme: string;
const flows: string[] = [];

beforeAll(async () => {
  keep = await startConsoleFixture();
  owner = await keep.signIn();
  member = await keep.signIn(memberAccount);
  for (const page of [owner, member]) page.setDefaultTimeout(20_000);
  acme = await createOrganisation(keep, owner, "Acme");
  await addMember(keep, { organisation: acme, owner, person: member });
});

afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "teams 9",
      text: `teams, vaults, tokens and settings of an organisation: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 14 },
    });
});

type Tab = "teams" | "vaults" | "tokens" | "settings";

async function openTab(page: Page, tab: Tab): Promise<void> {
  await page.goto(`${keep.url}/organisations/${acme}/${tab}`);
  await page.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
}

test("a team is created, and members are added to it and removed", async () => {
  await openTab(owner, "teams");
  await owner.getByText("No teams yet").waitFor();
  await owner.getByRole("button", { name: "New team" }).click();
  await owner.getByLabel("Name", { exact: true }).fill("Backend");
  await owner.getByRole("button", { name: "Create team" }).click();
  const panel = owner.getByRole("dialog", { name: "Backend" });
  await panel.getByText("This team has no members yet").waitFor();
  flows.push("create a team");
  await panel.getByLabel("Add a member").selectOption("fourth@example.com");
  await panel.getByRole("button", { name: "Add", exact: true }).click();
  await panel.getByRole("button", { name: "Remove fourth@example.com from the team" }).waitFor();
  await owner.getByText("fourth@example.com added to Backend").waitFor();
  await owner.getByRole("button", { name: "Close", exact: true }).first().click();
  await owner.getByText("1 member", { exact: true }).waitFor();
  flows.push("add a member to a team");
  await owner.goto(`${keep.url}/organisations/${acme}`);
  const row = owner.getByRole("list", { name: "Members" }).getByRole("listitem").last();
  await expect.poll(() => row.textContent()).toContain("Backend");
  await openTab(owner, "teams");
  await owner.getByRole("link", { name: "Backend" }).click();
  await panel.getByRole("button", { name: "Remove fourth@example.com from the team" }).click();
  await panel.getByText("This team has no members yet").waitFor();
  flows.push("remove a member from a team");
});

test("a team is renamed and deleted; a member sees teams and cannot change them", async () => {
  await createTeam(keep, { organisation: acme, owner, name: "Old name" });
  await openTab(owner, "teams");
  await chooseMenuItem(owner, "More actions for Old name", "Rename…");
  await owner.getByLabel("Name", { exact: true }).fill("On call");
  await owner.getByRole("button", { name: "Rename", exact: true }).click();
  await owner.getByRole("link", { name: "On call" }).waitFor();
  flows.push("rename a team");
  await openTab(member, "teams");
  await member.getByRole("link", { name: "On call" }).click();
  await member.getByRole("dialog").getByText("This team has no members yet").waitFor();
  expect(await member.getByRole("button", { name: /New team|More actions|Add/u }).count()).toBe(0);
  flows.push("a member sees teams");
  await chooseMenuItem(owner, "More actions for On call", "Delete…");
  await owner.getByText("They stay members of the organisation").waitFor();
  await owner.getByRole("button", { name: "Delete team" }).click();
  await owner.getByText("On call deleted").waitFor();
  await expect.poll(() => owner.getByRole("link", { name: "On call" }).count()).toBe(0);
  flows.push("delete a team");
});

test("a team with a name of blanks is refused, and the dialog stays open", async () => {
  await openTab(owner, "teams");
  await owner.getByRole("button", { name: "New team" }).click();
  await owner.getByLabel("Name", { exact: true }).fill("   ");
  await owner.getByRole("button", { name: "Create team" }).click();
  await owner.getByRole("alert").waitFor();
  expect(await owner.getByRole("dialog").count()).toBe(1);
  flows.push("a name of blanks refused");
});

test("a vault of the organisation is created, opens with its access, and is reached from the list", async () => {
  await openTab(owner, "vaults");
  await owner.getByText("No vaults yet").waitFor();
  await owner.getByRole("button", { name: "New vault" }).click();
  await owner.getByLabel("Name", { exact: true }).fill("Payments");
  await owner.getByRole("button", { name: "Create vault" }).click();
  const panel = owner.getByRole("dialog", { name: "Access to Payments" });
  await panel.getByText("Manager").waitFor();
  expect(new URL(owner.url()).pathname).toMatch(/^\/secrets\/[0-9a-f-]{36}$/u);
  flows.push("create a vault");
  await owner.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await owner.getByText("No secrets yet").waitFor();
  await owner.getByRole("link", { name: "Acme" }).click();
  await owner.getByRole("link", { name: "Payments", exact: true }).click();
  await owner.getByRole("button", { name: "Vault Payments" }).waitFor();
  flows.push("open a vault of the organisation");
});

test("a token of the organisation is shown once, rotated and revoked; each token says whose it is", async () => {
  await openTab(owner, "tokens");
  await owner.getByRole("link", { name: "New token" }).click();
  await owner.getByLabel("Name", { exact: true }).fill("deployment");
  await owner.getByRole("radio", { name: "The organisation" }).check();
  await owner.getByRole("button", { name: "Create token" }).click();
  await owner.getByText("Select at least one vault").waitFor();
  await owner.getByRole("checkbox", { name: "Payments" }).check();
  await owner.getByRole("button", { name: "Create token" }).click();
  const shown = owner.getByRole("dialog", { name: "Copy your token now" });
  const value = /sk-svc-[0-9A-Za-z]{49}/u.exec((await shown.textContent()) ?? "")?.[0] ?? "";
  await shown.getByRole("button", { name: "Done" }).click();
  await owner.getByText("For the organisation").waitFor();
  expect(await owner.content()).not.toContain(value);
  const headers = { authorization: `Bearer ${value}` };
  expect((await fetch(`${keep.url}/api/secrets/tokens/self`, { headers })).status).toBe(200);
  flows.push("create a token of the organisation");
  await chooseMenuItem(owner, "More actions for deployment", "Rotate");
  await owner.getByLabel("Grace period for the old value").selectOption("0");
  await owner.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
  await shown.getByText("The old value no longer works").waitFor();
  await shown.getByRole("button", { name: "Done" }).click();
  flows.push("rotate it");
  await chooseMenuItem(owner, "More actions for deployment", "Revoke");
  await owner.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await owner.getByText("Revoked on all servers").waitFor();
  await owner.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await owner.getByText("No tokens yet").waitFor();
  flows.push("revoke it");
});

test("a member has tokens of their own there, which owners see, and sees none of other members", async () => {
  await keep.request(owner, `/api/organisations/${acme}/tokens`, {
    method: "POST",
    body: { name: "of the owner", scopes: ["secrets:read"], for: "me" },
  });
  await openTab(member, "tokens");
  await member.getByRole("link", { name: "New token" }).click();
  await member.getByLabel("Name", { exact: true }).fill("my script");
  await member.getByRole("button", { name: "Create token" }).click();
  await member.getByRole("button", { name: "Done" }).click();
  await member.getByText("For you").waitFor();
  await openTab(owner, "tokens");
  await owner.getByText("For fourth@example.com").waitFor();
  expect(await member.getByText("of the owner").count()).toBe(0);
  flows.push("a member's own token");
});

test("the organisation is renamed, and deleted only with its name", async () => {
  await openTab(owner, "settings");
  await owner.getByLabel("Name", { exact: true }).fill("Acme Works");
  await owner.getByRole("button", { name: "Rename" }).click();
  await owner.getByRole("heading", { name: "Acme Works", level: 1 }).waitFor();
  flows.push("rename the organisation");
  await owner.getByRole("button", { name: "Delete organisation…" }).click();
  await owner.getByLabel("Type Acme Works to confirm").fill("Acme");
  await owner.keyboard.press("Enter");
  await owner.getByText("Enter Acme Works exactly as shown").waitFor();
  await owner.getByLabel("Type Acme Works to confirm").fill("Acme Works");
  await owner.keyboard.press("Enter");
  await owner.getByText("Acme Works deleted").waitFor();
  await owner.getByText("No organisations yet").waitFor();
  await member.goto(`${keep.url}/organisations`);
  await member.getByText("No organisations yet").waitFor();
  expect(new URL(owner.url()).pathname).toBe("/organisations");
  flows.push("delete the organisation");
});
