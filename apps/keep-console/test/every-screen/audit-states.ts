import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { breakOff, type ConsoleState, keepWaiting, type Scene } from "./scene.ts";

async function openLog(page: Page, { stage }: Scene, query: string): Promise<void> {
  await page.goto(`${stage.url}/audit?vault=${query}`);
  await appear(page.getByRole("list", { name: "Events, the newest first" }));
  await appear(page.locator(".chart").first());
}

export const auditStates: readonly ConsoleState[] = [
  { name: "audit", reach: (page, scene) => openLog(page, scene, scene.vault) },
  { name: "audit-account", reach: (page, scene) => openLog(page, scene, "account") },
  { name: "audit-alarms", reach: (page, scene) => openLog(page, scene, "account&show=alarms") },
  {
    name: "audit-empty",
    reach: async (page, { stage, vault }) => {
      await page.goto(`${stage.url}/audit?vault=${vault}&show=alarms`);
      await appear(page.getByText("Nothing of this kind has happened"));
    },
  },
  {
    name: "audit-loading",
    reach: async (page, { stage, vault }) => {
      await keepWaiting(page, "**/audit?*limit*");
      await page.goto(`${stage.url}/audit?vault=${vault}`);
      await appear(page.getByRole("status", { name: "Loading the log" }));
    },
  },
  {
    name: "audit-failed",
    isRefused: true,
    reach: async (page, { stage, vault }) => {
      await breakOff(page, "**/audit?*limit*");
      await page.goto(`${stage.url}/audit?vault=${vault}`);
      await appear(page.getByText("Keep cannot be reached").first());
    },
  },
  {
    name: "audit-vaults-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/secrets/vaults?*");
      await page.goto(`${stage.url}/audit`);
      await appear(page.getByText("Keep cannot be reached"));
    },
  },
  {
    name: "audit-denied",
    isRefused: true,
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/audit?vault=00000000-0000-7000-8000-000000000000`);
      await appear(page.getByText("There is no such log"));
    },
  },
  {
    name: "audit-verified",
    reach: async (page, scene) => {
      await openLog(page, scene, scene.vault);
      await press(page.getByRole("button", { name: "Verify" }));
      await appear(page.getByText("The log is whole"));
    },
  },
  {
    name: "audit-broken",
    reach: async (page, scene) => {
      await openLog(page, scene, scene.brokenVault);
      await press(page.getByRole("button", { name: "Verify" }));
      await appear(page.getByText("Record #2 is not as it was"));
    },
  },
];
