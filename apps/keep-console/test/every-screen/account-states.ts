import type { Page } from "playwright-core";
import {
  breakOff,
  keepWaiting,
  makeSignInFresh,
  makeSignInOld,
  type Scene,
  type ScreenState,
} from "./scene.ts";

async function openAccount(page: Page, { stage }: Scene, query = ""): Promise<void> {
  await page.goto(`${stage.url}/account${query}`);
  await page.getByText("Firefox on Linux").waitFor();
}

export const signInStates: readonly ScreenState[] = [
  {
    name: "sign-in",
    looker: "visitor",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/sign-in`);
      await page.getByRole("button", { name: "Continue with Example" }).waitFor();
    },
  },
  {
    name: "sign-in-failed",
    looker: "visitor",
    isRefused: true,
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/auth/callback/general?state=unknown`);
      await page.getByText("That did not work").waitFor();
    },
  },
  {
    name: "signed-in",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/sign-in`);
      await page.getByRole("link", { name: "Go to the console" }).waitFor();
    },
  },
];

export const accountStates: readonly ScreenState[] = [
  { name: "account", reach: (page, scene) => openAccount(page, scene) },
  {
    name: "person-menu",
    reach: async (page, scene) => {
      await openAccount(page, scene);
      await page.getByRole("banner").getByRole("button").click();
      await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
    },
  },
  {
    name: "account-loading",
    reach: async (page, { stage }) => {
      await keepWaiting(page, "**/api/account**");
      await page.goto(`${stage.url}/account`);
      await page.getByRole("status", { name: "Loading the account" }).waitFor();
    },
  },
  {
    name: "account-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/account**");
      await page.goto(`${stage.url}/account`);
      await page.getByText("Keep cannot be reached").first().waitFor();
    },
  },
  {
    name: "account-link",
    reach: async (page, scene) => {
      await openAccount(page, scene, "?link=code-hosting");
      await page.getByRole("button", { name: "Continue at Forge" }).waitFor();
    },
  },
  {
    name: "account-link-sign-in-again",
    reach: async (page, scene) => {
      await openAccount(page, scene, "?link=code-hosting");
      makeSignInOld(scene);
      await page.getByRole("button", { name: "Continue at Forge" }).click();
      await page.getByRole("button", { name: "Sign in again with Example" }).waitFor();
    },
    leave: makeSignInFresh,
  },
  {
    name: "account-end-sessions",
    reach: async (page, scene) => {
      await openAccount(page, scene);
      await page.getByRole("button", { name: "End all others" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "account-delete",
    reach: async (page, scene) => {
      await openAccount(page, scene);
      await page.getByRole("button", { name: "Delete account…" }).click();
      await page.getByRole("button", { name: "Delete account", exact: true }).click();
      await page.getByRole("alert").waitFor();
    },
  },
];

async function beginSteps(page: Page, { stage }: Scene, name: string): Promise<void> {
  await page.goto(`${stage.url}/welcome`);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Value").fill("correct horse battery staple");
  await page.getByRole("button", { name: "Save secret" }).click();
  await page.getByRole("button", { name: "Make token" }).waitFor();
}

async function reachLines(page: Page, scene: Scene, name: string): Promise<void> {
  await beginSteps(page, scene, name);
  await page.getByRole("button", { name: "Make token" }).click();
  await page.getByText("Waiting for your program").waitFor();
}

/** After the states of a newcomer who has nothing yet. */
export const welcomeStates: readonly ScreenState[] = [
  {
    name: "welcome",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/welcome`);
      await page.getByLabel("Name", { exact: true }).waitFor();
    },
  },
  {
    name: "welcome-mistakes",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/welcome`);
      await page.getByRole("button", { name: "Save secret" }).click();
      await page.getByRole("alert").first().waitFor();
    },
  },
  {
    name: "welcome-failed",
    looker: "newcomer",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/secrets/vaults?*");
      await page.goto(`${stage.url}/welcome`);
      await page.getByText("Keep cannot be reached").waitFor();
    },
  },
  {
    name: "welcome-token",
    looker: "newcomer",
    reach: (page, scene) => beginSteps(page, scene, "DATABASE_PASSWORD"),
  },
  {
    name: "welcome-lines",
    looker: "newcomer",
    reach: (page, scene) => reachLines(page, scene, "MAIL_PASSWORD"),
  },
  {
    name: "welcome-actions",
    looker: "newcomer",
    reach: async (page, scene) => {
      await reachLines(page, scene, "SEARCH_PASSWORD");
      await page.getByRole("tab", { name: "GitHub Actions" }).click();
      await page.getByRole("button", { name: "Hide the token" }).click();
      await page.getByRole("button", { name: "Show the token" }).waitFor();
    },
  },
  {
    name: "welcome-read",
    looker: "newcomer",
    reach: async (page, scene) => {
      await reachLines(page, scene, "STOCK_PASSWORD");
      const line = (await page.locator("pre").first().textContent()) ?? "";
      const [, token = ""] = /Bearer (?<token>sk-svc-[0-9A-Za-z]+)/u.exec(line) ?? [];
      const [address = ""] = /http[^\s"']+/u.exec(line) ?? [];
      await fetch(address, { headers: { authorization: `Bearer ${token}` } });
      await page.getByText("Your program read it").waitFor();
    },
  },
];
