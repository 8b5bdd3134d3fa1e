import { appear, press } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import type { ApprovalScene } from "./approval-scene.ts";
import {
  abortRequests,
  type ConsoleState,
  chooseMenuItem,
  expireSignIn,
  refreshSignIn,
  type ScreenFixture,
} from "./screen-fixture.ts";

async function openVault(page: Page, { keep, teams }: ScreenFixture, rest = ""): Promise<void> {
  await page.goto(`${keep.url}/secrets/${teams.approvals.vault}${rest}`);
}

async function openChange(
  page: Page,
  fixture: ScreenFixture,
  name: Exclude<keyof ApprovalScene, "vault">,
): Promise<Locator> {
  await openVault(page, fixture, `/changes?change=${fixture.teams.approvals[name]}`);
  const panel = page.getByRole("dialog", { name: "Proposed change" });
  await appear(panel.getByText("Pending", { exact: true }));
  return panel;
}

async function openProposal(page: Page, fixture: ScreenFixture): Promise<void> {
  await openVault(page, fixture, "?folder=/prod");
  await chooseMenuItem(page, "More actions for DATABASE_URL", "Delete…");
  await press(page.getByRole("button", { name: "Delete", exact: true }));
  await appear(page.getByLabel("Reason"));
}

export const approvalStates: readonly ConsoleState[] = [
  {
    name: "changes-none",
    reach: async (page, { keep, teams }) => {
      await page.goto(`${keep.url}/secrets/${teams.vault}/changes`);
      await appear(page.getByText("No pending changes"));
    },
  },
  {
    name: "changes-failed",
    isRefused: true,
    reach: async (page, fixture) => {
      await abortRequests(page, "**/changes?*");
      await openVault(page, fixture, "/changes");
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  {
    name: "changes",
    reach: async (page, fixture) => {
      await openVault(page, fixture, "/changes");
      await appear(page.getByRole("list", { name: "Pending changes" }));
    },
  },
  {
    name: "changes-decided",
    reach: async (page, fixture) => {
      await openVault(page, fixture, "/changes?state=decided");
      await appear(page.getByRole("list", { name: "Decided changes" }));
    },
  },
  {
    name: "change",
    reach: async (page, fixture) => {
      const panel = await openChange(page, fixture, "change");
      await appear(panel.getByRole("button", { name: "Approve" }));
    },
  },
  {
    name: "change-revealed",
    reach: async (page, fixture) => {
      const panel = await openChange(page, fixture, "change");
      await press(panel.getByRole("button", { name: "Reveal values" }));
      await appear(panel.getByText("postgres://new-cluster"));
    },
  },
  {
    name: "change-settings",
    reach: async (page, fixture) => {
      const panel = await openChange(page, fixture, "settings");
      await appear(panel.getByText("Stop protecting /prod/**"));
    },
  },
  {
    name: "change-own",
    reach: async (page, fixture) => {
      const panel = await openChange(page, fixture, "own");
      await appear(panel.getByRole("button", { name: "Withdraw" }));
    },
  },
  {
    name: "change-reader",
    viewer: "operator",
    reach: async (page, fixture) => {
      const panel = await openChange(page, fixture, "change");
      await appear(panel.getByText("Only people who may make this change themselves"));
    },
  },
  {
    name: "change-conflict",
    isRefused: true,
    reach: async (page, fixture) => {
      const panel = await openChange(page, fixture, "outdated");
      await press(panel.getByRole("button", { name: "Approve" }));
      await appear(panel.getByText("was changed after this change was proposed"));
    },
  },
  {
    name: "change-sign-in-again",
    isRefused: true,
    reach: async (page, fixture) => {
      const panel = await openChange(page, fixture, "change");
      expireSignIn(fixture);
      await press(panel.getByRole("button", { name: "Approve" }));
      await appear(panel.getByText("Sign in again to approve changes"));
    },
    leave: refreshSignIn,
  },
  {
    name: "change-decided",
    reach: async (page, fixture) => {
      await openVault(page, fixture, "/changes?state=decided");
      await press(page.getByRole("link", { name: "Turn the flag on for half of the users" }));
      await appear(page.getByText("What a decided change does is not kept here"));
    },
  },
  { name: "propose", isRefused: true, reach: openProposal },
  {
    name: "propose-edit",
    isRefused: true,
    reach: async (page, fixture) => {
      await openVault(page, fixture, "?folder=/prod");
      await press(page.getByRole("link", { name: "DATABASE_URL", exact: true }));
      await press(page.getByRole("button", { name: "Edit" }));
      await page.getByRole("textbox", { name: "Value" }).fill("postgres://elsewhere");
      await press(page.getByRole("button", { name: "Save" }));
      await press(page.getByRole("button", { name: "Propose change" }));
      await appear(page.getByText("Enter a reason"));
    },
  },
  {
    name: "protected-paths",
    reach: async (page, fixture) => {
      await openVault(page, fixture);
      await chooseMenuItem(page, "Vault Ledger", "Vault settings…");
      await page.getByLabel("Protected paths", { exact: true }).scrollIntoViewIfNeeded();
    },
  },
  {
    name: "protected-paths-propose",
    isRefused: true,
    reach: async (page, fixture) => {
      await openVault(page, fixture);
      await chooseMenuItem(page, "Vault Ledger", "Vault settings…");
      await page.getByLabel("Protected paths", { exact: true }).fill("/live/*");
      await page.getByLabel("Name", { exact: true }).fill("Ledger of 2026");
      await press(page.getByRole("button", { name: "Save" }));
      await appear(page.getByText("Stop protecting /prod/**"));
    },
  },
  {
    name: "proposed",
    isRefused: true,
    reach: async (page, fixture) => {
      await openProposal(page, fixture);
      await page.getByLabel("Reason").fill("Not used any more");
      await press(page.getByRole("button", { name: "Propose change" }));
      await appear(page.getByText("Change proposed."));
    },
  },
];
