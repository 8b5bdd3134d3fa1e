import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  abortRequests,
  type ConsoleState,
  chooseMenuItem,
  expireSignIn,
  refreshSignIn,
  type ScreenFixture,
  stallRequests,
} from "./screen-fixture.ts";

async function openTokens(page: Page, { keep }: ScreenFixture): Promise<void> {
  await page.goto(`${keep.url}/secrets/tokens`);
  await appear(page.getByRole("button", { name: "More actions for nightly backup" }));
}

async function openForm(page: Page, { keep }: ScreenFixture, name: string): Promise<void> {
  await page.goto(`${keep.url}/secrets/tokens?new=token`);
  await page.getByLabel("Name", { exact: true }).fill(name);
}

async function openTokenDialog(page: Page, fixture: ScreenFixture, action: string): Promise<void> {
  await openTokens(page, fixture);
  await chooseMenuItem(page, "More actions for nightly backup", action);
  await appear(page.getByRole("dialog"));
}

async function createAndRevoke(page: Page, fixture: ScreenFixture, name: string): Promise<void> {
  const body = { name, scopes: ["secrets:read"] };
  await fixture.keep.request(page, "/api/secrets/tokens", { method: "POST", body });
  await openTokens(page, fixture);
  await chooseMenuItem(page, `More actions for ${name}`, "Revoke");
  await press(page.getByRole("button", { name: "Revoke", exact: true }));
}

const removeLaggingNode = ({ keep }: ScreenFixture): void => {
  keep.runSql("DELETE FROM node WHERE forgotten_until = 'epoch'");
};

export const tokenStates: readonly ConsoleState[] = [
  {
    name: "tokens-empty",
    viewer: "newcomer",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/secrets/tokens`);
      await appear(page.getByText("No tokens yet"));
    },
  },
  {
    name: "tokens-loading",
    reach: async (page, { keep }) => {
      await stallRequests(page, "**/api/secrets/tokens?*");
      await page.goto(`${keep.url}/secrets/tokens`);
      await appear(page.getByRole("status", { name: "Loading tokens" }));
    },
  },
  {
    name: "tokens-failed",
    isRefused: true,
    reach: async (page, { keep }) => {
      await abortRequests(page, "**/api/secrets/tokens?*");
      await page.goto(`${keep.url}/secrets/tokens`);
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  { name: "tokens", reach: openTokens },
  {
    name: "tokens-revoked",
    reach: async (page, fixture) => {
      await openTokens(page, fixture);
      await press(page.getByText("Revoked tokens"));
      await appear(page.getByText("old laptop"));
    },
  },
  { name: "token-new", reach: (page, fixture) => openForm(page, fixture, "web shop, staging") },
  {
    name: "token-errors",
    reach: async (page, fixture) => {
      await openForm(page, fixture, " ");
      await page.getByRole("checkbox", { name: "Read secrets" }).uncheck();
      await page.getByLabel("Paths", { exact: true }).fill("prod/**");
      await page.getByLabel("IP addresses").fill("10.0.0.0/40");
      await page.getByLabel("Expires after").selectOption("never");
      await press(page.getByRole("button", { name: "Create token" }));
      await appear(page.getByText("Select at least one permission"));
    },
  },
  {
    name: "token-sign-in-again",
    isRefused: true,
    reach: async (page, fixture) => {
      await openForm(page, fixture, "after a long lunch");
      expireSignIn(fixture);
      await press(page.getByRole("button", { name: "Create token" }));
      await page.getByRole("button", { name: "Sign in again with Example" }).scrollIntoViewIfNeeded();
    },
    leave: refreshSignIn,
  },
  {
    name: "token-shown-once",
    reach: async (page, fixture) => {
      await openForm(page, fixture, "web shop, staging");
      await press(page.getByRole("button", { name: "Create token" }));
      await appear(page.getByRole("dialog", { name: "Copy your token now" }));
    },
  },
  { name: "token-rename", reach: (page, fixture) => openTokenDialog(page, fixture, "Rename") },
  { name: "token-rotate", reach: (page, fixture) => openTokenDialog(page, fixture, "Rotate") },
  { name: "token-revoke", reach: (page, fixture) => openTokenDialog(page, fixture, "Revoke") },
  {
    name: "token-revoked",
    reach: async (page, fixture) => {
      await createAndRevoke(page, fixture, "first try");
      await appear(page.getByText("Revoked on all servers"));
    },
  },
  {
    name: "token-revoked-unconfirmed",
    isRefused: true,
    reach: async (page, fixture) => {
      fixture.keep.runSql(
        "INSERT INTO node (id, heartbeat_at, forgotten_until) VALUES (gen_random_uuid(), now() + interval '1 hour', 'epoch')",
      );
      await createAndRevoke(page, fixture, "second try");
      await appear(page.getByText("not yet confirmed by every server"));
    },
    leave: removeLaggingNode,
  },
];
