import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  abortRequests,
  type ConsoleState,
  chooseMenuItem,
  type ScreenFixture,
  stallRequests,
} from "./screen-fixture.ts";

async function openRules(page: Page, { keep }: ScreenFixture): Promise<void> {
  await page.goto(`${keep.url}/secrets/trust-rules`);
  await appear(page.getByText("Deploy production"));
}

async function openAccounts(page: Page, { keep }: ScreenFixture): Promise<void> {
  await page.goto(`${keep.url}/accounts`);
  await appear(page.getByRole("link", { name: "Acme" }));
}

export const ruleStates: readonly ConsoleState[] = [
  {
    name: "trust-rules-empty",
    viewer: "newcomer",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/secrets/trust-rules`);
      await appear(page.getByText("No trust rules yet"));
    },
  },
  {
    name: "trust-rules-failed",
    isRefused: true,
    reach: async (page, { keep }) => {
      await abortRequests(page, "**/api/secrets/trust-rules");
      await page.goto(`${keep.url}/secrets/trust-rules`);
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  { name: "trust-rules", reach: openRules },
  {
    name: "trust-rule-new",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/secrets/trust-rules?new=rule`);
      await appear(page.getByRole("button", { name: "Create trust rule" }));
    },
  },
  {
    name: "trust-rule-errors",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/secrets/trust-rules?new=rule`);
      await page.getByLabel("Provider").selectOption("generic");
      await press(page.getByRole("button", { name: "Create trust rule" }));
      await appear(page.getByText("Enter the issuer's https URL"));
    },
  },
  {
    name: "trust-rule-edit",
    reach: async (page, fixture) => {
      await openRules(page, fixture);
      await chooseMenuItem(page, "More actions for Deploy production", "Edit");
      await appear(page.getByRole("button", { name: "Save" }));
    },
  },
  {
    name: "trust-rule-attempts",
    reach: async (page, fixture) => {
      await openRules(page, fixture);
      await chooseMenuItem(page, "More actions for Billing in the cluster", "Recent tokens…");
      await appear(page.getByText("is not a value that the rule allows"));
    },
  },
  {
    name: "trust-rule-delete",
    reach: async (page, fixture) => {
      await openRules(page, fixture);
      await chooseMenuItem(page, "More actions for Deploy production", "Delete…");
      await appear(page.getByRole("dialog"));
    },
  },
];

export const operatorStates: readonly ConsoleState[] = [
  { name: "accounts", viewer: "operator", reach: openAccounts },
  {
    name: "accounts-loading",
    viewer: "operator",
    reach: async (page, { keep }) => {
      await stallRequests(page, "**/api/operator/accounts?*");
      await page.goto(`${keep.url}/accounts`);
      await appear(page.getByRole("status", { name: "Loading accounts" }));
    },
  },
  {
    name: "accounts-none",
    viewer: "operator",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/accounts?status=paused`);
      await appear(page.getByText("No account has this status"));
    },
  },
  {
    name: "accounts-refused",
    isRefused: true,
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/accounts`);
      await appear(page.getByText("Only operators of this Keep can see accounts"));
    },
  },
  {
    name: "operator-account",
    viewer: "operator",
    reach: async (page, fixture) => {
      await openAccounts(page, fixture);
      await press(page.getByRole("link", { name: "fourth@example.com" }));
      await appear(page.getByRole("button", { name: "Suspend…" }));
    },
  },
  {
    name: "operator-suspend",
    viewer: "operator",
    reach: async (page, fixture) => {
      await openAccounts(page, fixture);
      await press(page.getByRole("link", { name: "fourth@example.com" }));
      await press(page.getByRole("button", { name: "Suspend…" }));
      await appear(page.getByRole("dialog", { name: "Suspend fourth@example.com?" }));
    },
  },
];
