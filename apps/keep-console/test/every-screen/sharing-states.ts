import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { abortRequests, type ConsoleState, type ScreenFixture } from "./screen-fixture.ts";

async function openAccess(page: Page, { keep, teams }: ScreenFixture): Promise<void> {
  await page.goto(`${keep.url}/secrets/${teams.vault}?open=access`);
  await appear(page.getByRole("list", { name: "Access" }).getByText("Backend"));
}

async function openEnvironments(page: Page, { keep, teams }: ScreenFixture): Promise<void> {
  await page.goto(`${keep.url}/secrets/${teams.environments}/environments`);
  await appear(page.getByRole("rowheader", { name: "LOG_LEVEL" }));
}

async function compare(page: Page, fixture: ScreenFixture): Promise<void> {
  await openEnvironments(page, fixture);
  await press(page.getByRole("button", { name: "Compare", exact: true }));
  await appear(page.getByText("Different values"));
}

export const sharingStates: readonly ConsoleState[] = [
  {
    name: "shared-vault",
    viewer: "member",
    reach: async (page, { keep, teams }) => {
      await page.goto(`${keep.url}/secrets/${teams.vault}`);
      await appear(page.getByRole("row").nth(1));
      await appear(page.getByRole("link", { name: "Acme" }));
    },
  },
  {
    name: "shared-vault-read-only",
    viewer: "member",
    reach: async (page, { keep, teams }) => {
      await page.goto(`${keep.url}/secrets/${teams.vault}?folder=/prod`);
      await press(page.getByRole("link", { name: "DATABASE_URL", exact: true }));
      await appear(page.getByRole("button", { name: "Reveal" }));
    },
  },
  {
    name: "vault-not-shared",
    viewer: "operator",
    reach: async (page, { keep, teams }) => {
      await page.goto(`${keep.url}/secrets/${teams.vault}`);
      await appear(page.getByText("This vault is not shared with you"));
    },
  },
  {
    name: "vault-switcher-organisations",
    reach: async (page, { keep, teams }) => {
      await page.goto(`${keep.url}/secrets/${teams.vault}`);
      await press(page.getByRole("button", { name: "Vault Payments" }));
      await appear(page.getByRole("menuitem", { name: "Website" }));
    },
  },
  { name: "access", reach: openAccess },
  {
    name: "access-failed",
    isRefused: true,
    reach: async (page, { keep, teams }) => {
      await abortRequests(page, "**/grants");
      await page.goto(`${keep.url}/secrets/${teams.vault}?open=access`);
      await appear(page.getByRole("dialog").getByText("Cannot reach Keep"));
    },
  },
  {
    name: "access-readers",
    reach: async (page, fixture) => {
      await openAccess(page, fixture);
      await page.getByLabel("Path of a secret").fill("/dev/KEY");
      await press(page.getByRole("button", { name: "Check" }));
      await appear(page.getByRole("list", { name: "Readers" }));
    },
  },
  {
    name: "share",
    reach: async (page, fixture) => {
      await openAccess(page, fixture);
      await press(page.getByRole("button", { name: "Share", exact: true }));
      await appear(page.getByRole("dialog", { name: "Share Payments" }));
    },
  },
  {
    name: "share-errors",
    reach: async (page, fixture) => {
      await openAccess(page, fixture);
      await press(page.getByRole("button", { name: "Share", exact: true }));
      const dialog = page.getByRole("dialog", { name: "Share Payments" });
      await dialog.getByRole("checkbox", { name: "Only some paths" }).check();
      await dialog.getByLabel("Paths", { exact: true }).fill("prod");
      await press(dialog.getByRole("button", { name: "Share", exact: true }));
      await appear(dialog.getByText("Choose with whom to share the vault"));
    },
  },
  {
    name: "access-remove",
    reach: async (page, fixture) => {
      await openAccess(page, fixture);
      await press(page.getByRole("button", { name: "Remove the access of Backend as reader" }));
      await appear(page.getByRole("dialog", { name: "Remove the access of Backend?" }));
    },
  },
  {
    name: "environments-empty",
    reach: async (page, { keep, vault }) => {
      await page.goto(`${keep.url}/secrets/${vault}/environments`);
      await appear(page.getByText("No environments yet"));
    },
  },
  { name: "environments", reach: openEnvironments },
  { name: "environments-compared", reach: compare },
  {
    name: "environments-promote",
    reach: async (page, fixture) => {
      await compare(page, fixture);
      await press(page.getByRole("button", { name: "Promote staging to prod…" }));
      await appear(page.getByRole("checkbox", { name: "/prod/FEATURE_FLAG" }));
    },
  },
];
