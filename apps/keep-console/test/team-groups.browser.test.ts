import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { addMember, createOrganisation, createTeam, memberAccount, operatorAccount } from "./team-fixture.ts";

let keep: ConsoleFixture;
let owner: Page;
let acme: string;
/** Whom an owner adds; the other person is in the group `engineers`. */
let added: string;

beforeAll(async () => {
  keep = await startConsoleFixture();
  owner = await keep.signIn();
  owner.setDefaultTimeout(20_000);
  acme = await createOrganisation(keep, owner, "Acme");
  const other = await keep.signIn(operatorAccount);
  added = await addMember(keep, { organisation: acme, owner, person: other });
  const engineer = await keep.signIn(memberAccount);
  await addMember(keep, { organisation: acme, owner, person: engineer });
  for (const page of [other, engineer]) await page.context().close();
});

afterAll(() => keep?.[Symbol.asyncDispose]());

async function openTeam(page: Page, name: string) {
  await page.goto(`${keep.url}/organisations/${acme}/teams`);
  await page.getByRole("link", { name, exact: true }).click();
  const panel = page.getByRole("dialog", { name, exact: true });
  await panel.waitFor();
  return panel;
}

const rowOf = (panel: Awaited<ReturnType<typeof openTeam>>, name: string) =>
  panel.getByRole("list", { name: "Members of the team" }).getByRole("listitem").filter({ hasText: name });

async function enterGroup(page: Page, open: string, group: string): Promise<void> {
  await page.getByRole("button", { name: open }).click();
  await page.getByRole("textbox", { name: "Group" }).fill(group);
  await page.getByRole("button", { name: "Save", exact: true }).click();
}

test("a group that an owner sets fills the team at sign-ins, and the panel says who added whom", async () => {
  await createTeam(keep, { organisation: acme, owner, name: "Backend", members: [added] });
  const panel = await openTeam(owner, "Backend");
  await panel.getByText("Signing in with Example adds members who are in the group").waitFor();
  expect(await rowOf(panel, "third@example.com").textContent()).not.toContain("Added by");
  await enterGroup(owner, "Set group…", "engineers");
  await owner.getByText("Backend now follows the group engineers").waitFor();
  await panel.getByText("engineers", { exact: true }).waitFor();
  const engineer = await keep.signIn(memberAccount);
  await openTeam(owner, "Backend");
  await expect
    .poll(() => rowOf(panel, "fourth@example.com").textContent())
    .toContain("fourth@example.comAdded by the group");
  expect(await rowOf(panel, "third@example.com").textContent()).toContain("Added by an owner");
  await engineer.context().close();
});

test("a member whom the group added is removed only until their next sign-in, and the console says so", async () => {
  const panel = await openTeam(owner, "Backend");
  await panel.getByRole("button", { name: "Remove fourth@example.com from the team" }).click();
  await owner.getByText("The group adds them again at their next sign-in").waitFor();
  const engineer = await keep.signIn(memberAccount);
  await openTeam(owner, "Backend");
  await expect.poll(() => rowOf(panel, "fourth@example.com").count()).toBe(1);
  await engineer.context().close();
});

test("a member sees the group of a team, and no way to change it", async () => {
  const engineer = await keep.signIn(memberAccount);
  const panel = await openTeam(engineer, "Backend");
  await panel.getByText("engineers", { exact: true }).waitFor();
  expect(await panel.getByRole("button").allTextContents()).toEqual([""]);
  await engineer.context().close();
});

test("removing the group names how many members leave, and keeps those whom an owner added", async () => {
  const panel = await openTeam(owner, "Backend");
  await panel.getByRole("button", { name: "Remove…" }).click();
  const dialog = owner.getByRole("dialog", { name: "Remove the group of Backend?" });
  await dialog.getByText("The member whom the current group added is removed at once").waitFor();
  await dialog.getByRole("button", { name: "Remove group" }).click();
  await owner.getByText("Backend has no group any more").waitFor();
  await rowOf(panel, "fourth@example.com").waitFor({ state: "detached" });
  expect(await rowOf(panel, "third@example.com").count()).toBe(1);
  await panel.getByRole("button", { name: "Set group…" }).waitFor();
});

test("setting a group after a long lunch asks to sign in again, and then works", async () => {
  await createTeam(keep, { organisation: acme, owner, name: "Lunch" });
  await openTeam(owner, "Lunch");
  keep.setSignInTime("now() - interval '1 hour'");
  await enterGroup(owner, "Set group…", "cooks");
  await owner.getByText("Sign in again to change teams").waitFor();
  expect(await owner.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true);
  keep.setSignInTime("now()");
  await openTeam(owner, "Lunch");
  await enterGroup(owner, "Set group…", "cooks");
  await owner.getByText("Lunch now follows the group cooks").waitFor();
});

test("without a groups claim the console says what is missing, and only offers to remove a group", async () => {
  await using unset = await startConsoleFixture({ fillsTeams: false });
  const page = await unset.signIn();
  page.setDefaultTimeout(20_000);
  const organisation = await createOrganisation(unset, page, "Globex");
  const team = await createTeam(unset, { organisation, owner: page, name: "Sales" });
  const path = `/organisations/${organisation}/teams?team=${team}`;
  await page.goto(`${unset.url}${path}`);
  await page.getByText("until the operator of this Keep sets --groups-claim").waitFor();
  expect(await page.getByRole("button", { name: "Set group…" }).count()).toBe(0);
  const body = { external_group: "sellers" };
  await unset.request(page, `/api/organisations/${organisation}/teams/${team}`, { method: "PATCH", body });
  await page.goto(`${unset.url}${path}`);
  await page.getByText("This group has no effect").waitFor();
  expect(await page.getByRole("button", { name: "Change…" }).count()).toBe(0);
  await page.getByRole("button", { name: "Remove…" }).click();
  await page.getByRole("button", { name: "Remove group" }).click();
  await page.getByText("Sales has no group any more").waitFor();
});
