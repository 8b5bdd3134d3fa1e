import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  abortRequests,
  type ConsoleState,
  expireSignIn,
  refreshSignIn,
  type ScreenFixture,
  stallRequests,
} from "./screen-fixture.ts";

async function openAccount(page: Page, { keep }: ScreenFixture, query = ""): Promise<void> {
  await page.goto(`${keep.url}/account${query}`);
  await appear(page.getByText("Firefox on Linux"));
}

export const signInStates: readonly ConsoleState[] = [
  {
    name: "sign-in",
    viewer: "visitor",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/sign-in`);
      await appear(page.getByRole("button", { name: "Continue with Example" }));
    },
  },
  {
    name: "sign-in-failed",
    viewer: "visitor",
    isRefused: true,
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/auth/callback/general?state=unknown`);
      await appear(page.getByText("Sign-in failed"));
    },
  },
  {
    name: "signed-in",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/sign-in`);
      await appear(page.getByRole("link", { name: "Open console" }));
    },
  },
];

export const accountStates: readonly ConsoleState[] = [
  { name: "account", reach: (page, fixture) => openAccount(page, fixture) },
  {
    name: "account-menu",
    reach: async (page, fixture) => {
      await openAccount(page, fixture);
      await press(page.getByRole("banner").getByRole("button").last());
      await appear(page.getByRole("menuitem", { name: "Sign out" }));
    },
  },
  {
    name: "account-loading",
    reach: async (page, { keep }) => {
      await stallRequests(page, "**/api/account**");
      await page.goto(`${keep.url}/account`);
      await appear(page.getByRole("status", { name: "Loading account" }));
    },
  },
  {
    name: "account-failed",
    isRefused: true,
    reach: async (page, { keep }) => {
      await abortRequests(page, "**/api/account**");
      await page.goto(`${keep.url}/account`);
      await appear(page.getByText("Cannot reach Keep").first());
    },
  },
  {
    name: "account-link",
    reach: async (page, fixture) => {
      await openAccount(page, fixture, "?link=code-hosting");
      await appear(page.getByRole("button", { name: "Continue to Forge" }));
    },
  },
  {
    name: "account-link-sign-in-again",
    reach: async (page, fixture) => {
      await openAccount(page, fixture, "?link=code-hosting");
      expireSignIn(fixture);
      await press(page.getByRole("button", { name: "Continue to Forge" }));
      await appear(page.getByRole("button", { name: "Sign in again with Example" }));
    },
    leave: refreshSignIn,
  },
  {
    name: "account-sign-out-sessions",
    reach: async (page, fixture) => {
      await openAccount(page, fixture);
      await press(page.getByRole("button", { name: "Sign out all others" }));
      await appear(page.getByRole("dialog"));
    },
  },
  {
    name: "account-delete",
    reach: async (page, fixture) => {
      await openAccount(page, fixture);
      await press(page.getByRole("button", { name: "Delete account…" }));
      await press(page.getByRole("button", { name: "Delete account", exact: true }));
      await appear(page.getByRole("alert"));
    },
  },
];

async function createFirstSecret(page: Page, { keep }: ScreenFixture, name: string): Promise<void> {
  await page.goto(`${keep.url}/welcome`);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Value").fill("correct horse battery staple");
  await press(page.getByRole("button", { name: "Save secret" }));
  await appear(page.getByRole("button", { name: "Create token" }));
}

async function openReadStep(page: Page, fixture: ScreenFixture, name: string): Promise<void> {
  await createFirstSecret(page, fixture, name);
  await press(page.getByRole("button", { name: "Create token" }));
  await appear(page.getByText("Waiting for your program"));
}

/** After the states that need the newcomer to have no secrets. */
export const welcomeStates: readonly ConsoleState[] = [
  {
    name: "welcome",
    viewer: "newcomer",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/welcome`);
      await appear(page.getByLabel("Name", { exact: true }));
    },
  },
  {
    name: "welcome-errors",
    viewer: "newcomer",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/welcome`);
      await press(page.getByRole("button", { name: "Save secret" }));
      await appear(page.getByRole("alert").first());
    },
  },
  {
    name: "welcome-failed",
    viewer: "newcomer",
    isRefused: true,
    reach: async (page, { keep }) => {
      await abortRequests(page, "**/api/secrets/vaults?*");
      await page.goto(`${keep.url}/welcome`);
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  {
    name: "welcome-token",
    viewer: "newcomer",
    reach: (page, fixture) => createFirstSecret(page, fixture, "DATABASE_PASSWORD"),
  },
  {
    name: "welcome-read-step",
    viewer: "newcomer",
    reach: (page, fixture) => openReadStep(page, fixture, "MAIL_PASSWORD"),
  },
  {
    name: "welcome-actions",
    viewer: "newcomer",
    reach: async (page, fixture) => {
      await openReadStep(page, fixture, "SEARCH_PASSWORD");
      await press(page.getByRole("tab", { name: "GitHub Actions" }));
      await press(page.getByRole("button", { name: "Hide token" }));
      await appear(page.getByRole("button", { name: "Show token" }));
    },
  },
  {
    name: "welcome-read",
    viewer: "newcomer",
    reach: async (page, fixture) => {
      await openReadStep(page, fixture, "STOCK_PASSWORD");
      const line = (await page.locator("pre").first().textContent()) ?? "";
      const [, token = ""] = /Bearer (?<token>sk-svc-[0-9A-Za-z]+)/u.exec(line) ?? [];
      const [address = ""] = /http[^\s"']+/u.exec(line) ?? [];
      await fetch(address, { headers: { authorization: `Bearer ${token}` } });
      await appear(page.getByText("Your program read the secret"));
    },
  },
];
