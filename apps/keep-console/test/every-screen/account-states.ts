import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  breakOff,
  type ConsoleState,
  keepWaiting,
  makeSignInFresh,
  makeSignInOld,
  type Scene,
} from "./scene.ts";

async function openAccount(page: Page, { stage }: Scene, query = ""): Promise<void> {
  await page.goto(`${stage.url}/account${query}`);
  await appear(page.getByText("Firefox on Linux"));
}

export const signInStates: readonly ConsoleState[] = [
  {
    name: "sign-in",
    looker: "visitor",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/sign-in`);
      await appear(page.getByRole("button", { name: "Continue with Example" }));
    },
  },
  {
    name: "sign-in-failed",
    looker: "visitor",
    isRefused: true,
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/auth/callback/general?state=unknown`);
      await appear(page.getByText("That did not work"));
    },
  },
  {
    name: "signed-in",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/sign-in`);
      await appear(page.getByRole("link", { name: "Go to the console" }));
    },
  },
];

export const accountStates: readonly ConsoleState[] = [
  { name: "account", reach: (page, scene) => openAccount(page, scene) },
  {
    name: "person-menu",
    reach: async (page, scene) => {
      await openAccount(page, scene);
      await press(page.getByRole("banner").getByRole("button"));
      await appear(page.getByRole("menuitem", { name: "Sign out" }));
    },
  },
  {
    name: "account-loading",
    reach: async (page, { stage }) => {
      await keepWaiting(page, "**/api/account**");
      await page.goto(`${stage.url}/account`);
      await appear(page.getByRole("status", { name: "Loading the account" }));
    },
  },
  {
    name: "account-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/account**");
      await page.goto(`${stage.url}/account`);
      await appear(page.getByText("Keep cannot be reached").first());
    },
  },
  {
    name: "account-link",
    reach: async (page, scene) => {
      await openAccount(page, scene, "?link=code-hosting");
      await appear(page.getByRole("button", { name: "Continue at Forge" }));
    },
  },
  {
    name: "account-link-sign-in-again",
    reach: async (page, scene) => {
      await openAccount(page, scene, "?link=code-hosting");
      makeSignInOld(scene);
      await press(page.getByRole("button", { name: "Continue at Forge" }));
      await appear(page.getByRole("button", { name: "Sign in again with Example" }));
    },
    leave: makeSignInFresh,
  },
  {
    name: "account-end-sessions",
    reach: async (page, scene) => {
      await openAccount(page, scene);
      await press(page.getByRole("button", { name: "End all others" }));
      await appear(page.getByRole("dialog"));
    },
  },
  {
    name: "account-delete",
    reach: async (page, scene) => {
      await openAccount(page, scene);
      await press(page.getByRole("button", { name: "Delete account…" }));
      await press(page.getByRole("button", { name: "Delete account", exact: true }));
      await appear(page.getByRole("alert"));
    },
  },
];

async function beginSteps(page: Page, { stage }: Scene, name: string): Promise<void> {
  await page.goto(`${stage.url}/welcome`);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Value").fill("correct horse battery staple");
  await press(page.getByRole("button", { name: "Save secret" }));
  await appear(page.getByRole("button", { name: "Make token" }));
}

async function reachLines(page: Page, scene: Scene, name: string): Promise<void> {
  await beginSteps(page, scene, name);
  await press(page.getByRole("button", { name: "Make token" }));
  await appear(page.getByText("Waiting for your program"));
}

/** After the states of a newcomer who has nothing yet. */
export const welcomeStates: readonly ConsoleState[] = [
  {
    name: "welcome",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/welcome`);
      await appear(page.getByLabel("Name", { exact: true }));
    },
  },
  {
    name: "welcome-mistakes",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/welcome`);
      await press(page.getByRole("button", { name: "Save secret" }));
      await appear(page.getByRole("alert").first());
    },
  },
  {
    name: "welcome-failed",
    looker: "newcomer",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/secrets/vaults?*");
      await page.goto(`${stage.url}/welcome`);
      await appear(page.getByText("Keep cannot be reached"));
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
      await press(page.getByRole("tab", { name: "GitHub Actions" }));
      await press(page.getByRole("button", { name: "Hide the token" }));
      await appear(page.getByRole("button", { name: "Show the token" }));
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
      await appear(page.getByText("Your program read it"));
    },
  },
];
