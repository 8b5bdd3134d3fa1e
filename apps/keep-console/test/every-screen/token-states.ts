import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  breakOff,
  type ConsoleState,
  chooseFrom,
  keepWaiting,
  makeSignInFresh,
  makeSignInOld,
  type Scene,
} from "./scene.ts";

async function openTokens(page: Page, { stage }: Scene): Promise<void> {
  await page.goto(`${stage.url}/secrets/tokens`);
  await appear(page.getByRole("button", { name: "More for nightly backup" }));
}

async function openForm(page: Page, { stage }: Scene, name: string): Promise<void> {
  await page.goto(`${stage.url}/secrets/tokens?new=token`);
  await page.getByLabel("Name", { exact: true }).fill(name);
}

async function ask(page: Page, scene: Scene, action: string): Promise<void> {
  await openTokens(page, scene);
  await chooseFrom(page, "More for nightly backup", action);
  await appear(page.getByRole("dialog"));
}

async function makeAndRevoke(page: Page, scene: Scene, name: string): Promise<void> {
  const body = { name, scopes: ["secrets:read"] };
  await scene.stage.ask(page, "/api/secrets/tokens", { method: "POST", body });
  await openTokens(page, scene);
  await chooseFrom(page, `More for ${name}`, "Revoke");
  await press(page.getByRole("button", { name: "Revoke", exact: true }));
}

const forgetNode = ({ stage }: Scene): void => {
  stage.runSql("DELETE FROM node WHERE forgotten_until = 'epoch'");
};

export const tokenStates: readonly ConsoleState[] = [
  {
    name: "tokens-empty",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/secrets/tokens`);
      await appear(page.getByText("No tokens yet"));
    },
  },
  {
    name: "tokens-loading",
    reach: async (page, { stage }) => {
      await keepWaiting(page, "**/api/secrets/tokens?*");
      await page.goto(`${stage.url}/secrets/tokens`);
      await appear(page.getByRole("status", { name: "Loading the tokens" }));
    },
  },
  {
    name: "tokens-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/secrets/tokens?*");
      await page.goto(`${stage.url}/secrets/tokens`);
      await appear(page.getByText("Keep cannot be reached"));
    },
  },
  { name: "tokens", reach: openTokens },
  {
    name: "tokens-revoked",
    reach: async (page, scene) => {
      await openTokens(page, scene);
      await press(page.getByText("Revoked tokens"));
      await appear(page.getByText("old laptop"));
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
      await press(page.getByRole("button", { name: "Make token" }));
      await appear(page.getByText("Choose at least one thing that it may do"));
    },
  },
  {
    name: "token-sign-in-again",
    isRefused: true,
    reach: async (page, scene) => {
      await openForm(page, scene, "after a long lunch");
      makeSignInOld(scene);
      await press(page.getByRole("button", { name: "Make token" }));
      await page.getByRole("button", { name: "Sign in again with Example" }).scrollIntoViewIfNeeded();
    },
    leave: makeSignInFresh,
  },
  {
    name: "token-shown-once",
    reach: async (page, scene) => {
      await openForm(page, scene, "web shop, staging");
      await press(page.getByRole("button", { name: "Make token" }));
      await appear(page.getByRole("dialog", { name: "Copy your token now" }));
    },
  },
  { name: "token-rename", reach: (page, scene) => ask(page, scene, "Rename") },
  { name: "token-rotate", reach: (page, scene) => ask(page, scene, "Rotate") },
  { name: "token-revoke", reach: (page, scene) => ask(page, scene, "Revoke") },
  {
    name: "token-revoked-everywhere",
    reach: async (page, scene) => {
      await makeAndRevoke(page, scene, "first try");
      await appear(page.getByText("Revoked everywhere"));
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
      await appear(page.getByText("not yet confirmed by every server"));
    },
    leave: forgetNode,
  },
];
