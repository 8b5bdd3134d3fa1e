import type { Page } from "playwright-core";
import { breakOff, keepWaiting, type Scene, type ScreenState } from "./scene.ts";

async function openLog(page: Page, { stage }: Scene, query: string): Promise<void> {
  await page.goto(`${stage.url}/audit?vault=${query}`);
  await page.getByRole("list", { name: "Events, the newest first" }).waitFor();
  await page.locator(".chart").first().waitFor();
}

export const auditStates: readonly ScreenState[] = [
  { name: "audit", reach: (page, scene) => openLog(page, scene, scene.vault) },
  { name: "audit-account", reach: (page, scene) => openLog(page, scene, "account") },
  { name: "audit-alarms", reach: (page, scene) => openLog(page, scene, "account&show=alarms") },
  {
    name: "audit-empty",
    reach: async (page, { stage, vault }) => {
      await page.goto(`${stage.url}/audit?vault=${vault}&show=alarms`);
      await page.getByText("Nothing of this kind has happened").waitFor();
    },
  },
  {
    name: "audit-loading",
    reach: async (page, { stage, vault }) => {
      await keepWaiting(page, "**/audit?*limit*");
      await page.goto(`${stage.url}/audit?vault=${vault}`);
      await page.getByRole("status", { name: "Loading the log" }).waitFor();
    },
  },
  {
    name: "audit-failed",
    isRefused: true,
    reach: async (page, { stage, vault }) => {
      await breakOff(page, "**/audit?*limit*");
      await page.goto(`${stage.url}/audit?vault=${vault}`);
      await page.getByText("Keep cannot be reached").first().waitFor();
    },
  },
  {
    name: "audit-vaults-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/secrets/vaults?*");
      await page.goto(`${stage.url}/audit`);
      await page.getByText("Keep cannot be reached").waitFor();
    },
  },
  {
    name: "audit-denied",
    isRefused: true,
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/audit?vault=00000000-0000-7000-8000-000000000000`);
      await page.getByText("There is no such log").waitFor();
    },
  },
  {
    name: "audit-verified",
    reach: async (page, scene) => {
      await openLog(page, scene, scene.vault);
      await page.getByRole("button", { name: "Verify" }).click();
      await page.getByText("The log is whole").waitFor();
    },
  },
  {
    name: "audit-broken",
    reach: async (page, scene) => {
      await openLog(page, scene, scene.brokenVault);
      await page.getByRole("button", { name: "Verify" }).click();
      await page.getByText("Record #2 is not as it was").waitFor();
    },
  },
];
