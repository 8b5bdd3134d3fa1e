import type { Page } from "playwright-core";
import {
  breakOff,
  chooseFrom,
  keepWaiting,
  makeSignInFresh,
  makeSignInOld,
  type Scene,
  type ScreenState,
} from "./scene.ts";

async function openTokens(page: Page, { stage }: Scene): Promise<void> {
  await page.goto(`${stage.url}/secrets/tokens`);
  await page.getByRole("button", { name: "More for nightly backup" }).waitFor();
}

async function openForm(page: Page, { stage }: Scene, name: string): Promise<void> {
  await page.goto(`${stage.url}/secrets/tokens?new=token`);
  await page.getByLabel("Name", { exact: true }).fill(name);
}

async function ask(page: Page, scene: Scene, action: string): Promise<void> {
  await openTokens(page, scene);
  await chooseFrom(page, "More for nightly backup", action);
  await page.getByRole("dialog").waitFor();
}

async function makeAndRevoke(page: Page, scene: Scene, name: string): Promise<void> {
  const body = { name, scopes: ["secrets:read"] };
  await scene.stage.ask(page, "/api/secrets/tokens", { method: "POST", body });
  await openTokens(page, scene);
  await chooseFrom(page, `More for ${name}`, "Revoke");
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
}

const forgetNode = ({ stage }: Scene): void => {
  stage.runSql("DELETE FROM node WHERE forgotten_until = 'epoch'");
};

export const tokenStates: readonly ScreenState[] = [
  {
    name: "tokens-empty",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/secrets/tokens`);
      await page.getByText("No tokens yet").waitFor();
    },
  },
  {
    name: "tokens-loading",
    reach: async (page, { stage }) => {
      await keepWaiting(page, "**/api/secrets/tokens?*");
      await page.goto(`${stage.url}/secrets/tokens`);
      await page.getByRole("status", { name: "Loading the tokens" }).waitFor();
    },
  },
  {
    name: "tokens-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/secrets/tokens?*");
      await page.goto(`${stage.url}/secrets/tokens`);
      await page.getByText("Keep cannot be reached").waitFor();
    },
  },
  { name: "tokens", reach: openTokens },
  {
    name: "tokens-revoked",
    reach: async (page, scene) => {
      await openTokens(page, scene);
      await page.getByText("Revoked tokens").click();
      await page.getByText("old laptop").waitFor();
    },
  },
  { name: "token-new", reach: (page, scene) => openForm(page, scene, "web shop, staging") },
  {
    name: "token-mistakes",
    reach: async (page, scene) => {
      await openForm(page, scene, " ");
      await page.getByRole("checkbox", { name: "Read secrets" }).uncheck();
      await page.getByLabel("Paths", { exact: true }).fill("prod/**");
      await page.getByLabel("Addresses").fill("10.0.0.0/40");
      await page.getByLabel("It expires").selectOption("never");
      await page.getByRole("button", { name: "Make token" }).click();
      await page.getByText("Choose at least one thing that it may do").waitFor();
    },
  },
  {
    name: "token-sign-in-again",
    isRefused: true,
    reach: async (page, scene) => {
      await openForm(page, scene, "after a long lunch");
      makeSignInOld(scene);
      await page.getByRole("button", { name: "Make token" }).click();
      await page.getByRole("button", { name: "Sign in again with Example" }).scrollIntoViewIfNeeded();
    },
    leave: makeSignInFresh,
  },
  {
    name: "token-shown-once",
    reach: async (page, scene) => {
      await openForm(page, scene, "web shop, staging");
      await page.getByRole("button", { name: "Make token" }).click();
      await page.getByRole("dialog", { name: "Copy your token now" }).waitFor();
    },
  },
  { name: "token-rename", reach: (page, scene) => ask(page, scene, "Rename") },
  { name: "token-rotate", reach: (page, scene) => ask(page, scene, "Rotate") },
  { name: "token-revoke", reach: (page, scene) => ask(page, scene, "Revoke") },
  {
    name: "token-revoked-everywhere",
    reach: async (page, scene) => {
      await makeAndRevoke(page, scene, "first try");
      await page.getByText("Revoked everywhere").waitFor();
    },
  },
  {
    name: "token-revoked-unproven",
    isRefused: true,
    reach: async (page, scene) => {
      scene.stage.runSql(
        "INSERT INTO node (id, heartbeat_at, forgotten_until) VALUES (gen_random_uuid(), now() + interval '1 hour', 'epoch')",
      );
      await makeAndRevoke(page, scene, "second try");
      await page.getByText("not yet confirmed by every server").waitFor();
    },
    leave: forgetNode,
  },
];
