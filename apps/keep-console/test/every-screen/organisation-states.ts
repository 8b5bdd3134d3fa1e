import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  abortRequests,
  type ConsoleState,
  chooseMenuItem,
  expireSignIn,
  hideGroups,
  refreshSignIn,
  type ScreenFixture,
  stallRequests,
} from "./screen-fixture.ts";

type Tab = "" | "/teams" | "/vaults" | "/tokens" | "/trust-rules" | "/audit" | "/settings";

async function openTab(page: Page, { keep, teams }: ScreenFixture, tab: Tab = ""): Promise<void> {
  await page.goto(`${keep.url}/organisations/${teams.organisation}${tab}`);
  await appear(page.getByRole("heading", { name: "Acme", level: 1 }));
}

async function openMembers(page: Page, fixture: ScreenFixture): Promise<void> {
  await openTab(page, fixture);
  await appear(page.getByRole("list", { name: "Members" }).getByText("Backend"));
}

async function openMemberDialog(page: Page, fixture: ScreenFixture, action: string): Promise<void> {
  await openMembers(page, fixture);
  await chooseMenuItem(page, "More actions for fourth@example.com", action);
  await appear(page.getByRole("dialog"));
}

async function openInvite(page: Page, fixture: ScreenFixture): Promise<void> {
  await openMembers(page, fixture);
  await press(page.getByRole("button", { name: "Invite", exact: true }));
  await appear(page.getByRole("dialog"));
}

async function openTeam(page: Page, fixture: ScreenFixture, name: string): Promise<void> {
  await openTab(page, fixture, "/teams");
  await press(page.getByRole("link", { name, exact: true }));
  await appear(page.getByRole("dialog", { name, exact: true }));
}

const organisationListStates: readonly ConsoleState[] = [
  {
    name: "organisations-empty",
    viewer: "newcomer",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/organisations`);
      await appear(page.getByText("No organisations yet"));
    },
  },
  {
    name: "organisations-loading",
    reach: async (page, { keep }) => {
      await stallRequests(page, "**/api/organisations");
      await page.goto(`${keep.url}/organisations`);
      await appear(page.getByRole("status", { name: "Loading organisations" }));
    },
  },
  {
    name: "organisations-failed",
    isRefused: true,
    reach: async (page, { keep }) => {
      await abortRequests(page, "**/api/organisations");
      await page.goto(`${keep.url}/organisations`);
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  {
    name: "organisations",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/organisations`);
      await appear(page.getByRole("link", { name: "Acme" }));
    },
  },
  {
    name: "organisation-new",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/organisations`);
      await press(page.getByRole("button", { name: "New organisation" }));
      await appear(page.getByRole("dialog"));
    },
  },
  {
    name: "organisation-not-found",
    viewer: "newcomer",
    isRefused: true,
    reach: async (page, { keep, teams }) => {
      await page.goto(`${keep.url}/organisations/${teams.organisation}`);
      await appear(page.getByText("Organisation not found"));
    },
  },
];

const memberStates: readonly ConsoleState[] = [
  { name: "members", reach: openMembers },
  { name: "members-of-member", viewer: "member", reach: openMembers },
  {
    name: "member-menu",
    reach: async (page, fixture) => {
      await openMembers(page, fixture);
      await press(page.getByRole("button", { name: "More actions for fourth@example.com" }));
      await appear(page.getByRole("menuitem", { name: "Remove…" }));
    },
  },
  { name: "member-role", reach: (page, fixture) => openMemberDialog(page, fixture, "Change role…") },
  {
    name: "member-remove",
    reach: async (page, fixture) => {
      await openMemberDialog(page, fixture, "Remove…");
      await appear(page.getByRole("list", { name: "Secrets to replace" }));
    },
  },
  {
    name: "member-exposure",
    reach: async (page, fixture) => {
      await openMemberDialog(page, fixture, "Secrets they have read…");
      await appear(page.getByRole("list", { name: "Secrets to replace" }));
    },
  },
  {
    name: "last-owner-leave",
    isRefused: true,
    reach: async (page, fixture) => {
      await openMembers(page, fixture);
      await chooseMenuItem(page, "More actions for first@example.com", "Leave…");
      await press(page.getByRole("button", { name: "Leave", exact: true }));
      await appear(page.getByText("The organisation would have no owner"));
    },
  },
  { name: "invite", reach: openInvite },
  {
    name: "invite-sign-in-again",
    isRefused: true,
    reach: async (page, fixture) => {
      await openInvite(page, fixture);
      expireSignIn(fixture);
      await press(page.getByRole("button", { name: "Create invitation" }));
      await page.getByRole("button", { name: "Sign in again with Example" }).scrollIntoViewIfNeeded();
    },
    leave: refreshSignIn,
  },
  {
    name: "invitation-link",
    reach: async (page, fixture) => {
      await openInvite(page, fixture);
      await press(page.getByRole("button", { name: "Create invitation" }));
      await appear(page.getByRole("dialog", { name: "Copy the invitation link now" }));
    },
  },
  {
    name: "invitation-revoke",
    reach: async (page, fixture) => {
      await openMembers(page, fixture);
      await press(page.getByRole("button", { name: /^Revoke the invitation/u }).first());
      await appear(page.getByRole("dialog"));
    },
  },
];

const teamStates: readonly ConsoleState[] = [
  {
    name: "teams",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/teams");
      await appear(page.getByRole("link", { name: "Backend" }));
    },
  },
  {
    name: "team",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/teams");
      await press(page.getByRole("link", { name: "Backend" }));
      await appear(page.getByRole("dialog").getByText("fourth@example.com"));
    },
  },
  {
    name: "team-with-group",
    reach: async (page, fixture) => {
      await openTeam(page, fixture, "Engineers");
      await appear(page.getByText("Added by the group"));
    },
  },
  {
    name: "team-with-group-of-member",
    viewer: "member",
    reach: async (page, fixture) => {
      await openTeam(page, fixture, "Engineers");
      await appear(page.getByText("Added by the group"));
    },
  },
  {
    name: "team-group-change",
    reach: async (page, fixture) => {
      await openTeam(page, fixture, "Engineers");
      await press(page.getByRole("button", { name: "Change…" }));
      await appear(page.getByRole("dialog", { name: "Group for Engineers" }));
    },
  },
  {
    name: "team-group-remove",
    reach: async (page, fixture) => {
      await openTeam(page, fixture, "Engineers");
      await press(page.getByRole("button", { name: "Remove…" }));
      await appear(page.getByRole("dialog", { name: "Remove the group of Engineers?" }));
    },
  },
  {
    name: "team-group-unavailable",
    reach: async (page, fixture) => {
      await hideGroups(page);
      await openTeam(page, fixture, "Engineers");
      await appear(page.getByText("This group has no effect"));
    },
  },
  {
    name: "team-new",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/teams");
      await press(page.getByRole("button", { name: "New team" }));
      await appear(page.getByRole("dialog"));
    },
  },
  {
    name: "team-delete",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/teams");
      await chooseMenuItem(page, "More actions for On call", "Delete…");
      await appear(page.getByRole("dialog"));
    },
  },
  {
    name: "organisation-vaults",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/vaults");
      await appear(page.getByRole("link", { name: "Payments", exact: true }));
    },
  },
  {
    name: "organisation-tokens",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/tokens");
      await appear(page.getByText("For the organisation").first());
    },
  },
  {
    name: "organisation-token-new",
    reach: async (page, { keep, teams }) => {
      await page.goto(`${keep.url}/organisations/${teams.organisation}/tokens?new=token`);
      await appear(page.getByRole("radio", { name: "The organisation" }));
    },
  },
  {
    name: "organisation-trust-rules",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/trust-rules");
      await appear(page.getByText("Billing in the cluster"));
    },
  },
  {
    name: "organisation-trust-rules-of-member",
    viewer: "member",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/trust-rules");
      await appear(page.getByText("Only owners manage the trust rules"));
    },
  },
  {
    name: "organisation-trust-rule-new",
    reach: async (page, { keep, teams }) => {
      await page.goto(`${keep.url}/organisations/${teams.organisation}/trust-rules?new=rule`);
      await appear(page.getByRole("checkbox", { name: "Payments" }));
    },
  },
  {
    name: "organisation-trust-rule-attempts",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/trust-rules");
      await chooseMenuItem(page, "More actions for Billing in the cluster", "Recent tokens…");
      await appear(page.getByText("is not a value that the rule allows"));
    },
  },
  {
    name: "organisation-audit",
    viewer: "operator",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/audit");
      await appear(page.getByText("added fourth@example.com to the team “Backend”"));
    },
  },
  {
    name: "organisation-settings",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/settings");
      await appear(page.getByRole("button", { name: "Delete organisation…" }));
    },
  },
  {
    name: "organisation-settings-of-member",
    viewer: "member",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/settings");
      await appear(page.getByText("Only owners can change the settings"));
    },
  },
  {
    name: "organisation-delete",
    reach: async (page, fixture) => {
      await openTab(page, fixture, "/settings");
      await press(page.getByRole("button", { name: "Delete organisation…" }));
      await press(page.getByRole("button", { name: "Delete organisation", exact: true }));
      await appear(page.getByRole("alert"));
    },
  },
];

export const organisationStates: readonly ConsoleState[] = [
  ...organisationListStates,
  ...memberStates,
  ...teamStates,
];
