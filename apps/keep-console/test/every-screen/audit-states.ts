import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  abortRequests,
  type ConsoleState,
  type ScreenFixture,
  stallRequests,
  tamperExports,
} from "./screen-fixture.ts";

async function openLog(page: Page, { keep }: ScreenFixture, query: string): Promise<void> {
  await page.goto(`${keep.url}/audit?vault=${query}`);
  await appear(page.getByRole("list", { name: "Events, newest first" }));
  await appear(page.locator(".chart").first());
}

export const auditStates: readonly ConsoleState[] = [
  { name: "audit", reach: (page, fixture) => openLog(page, fixture, fixture.vault) },
  { name: "audit-account", reach: (page, fixture) => openLog(page, fixture, "account") },
  { name: "audit-denied-requests", reach: (page, fixture) => openLog(page, fixture, "account&show=alerts") },
  {
    name: "audit-narrowed",
    reach: (page, fixture) => openLog(page, fixture, `${fixture.vault}&actor=session&from=2020-01-01`),
  },
  {
    name: "audit-empty",
    reach: async (page, { keep, vault }) => {
      await page.goto(`${keep.url}/audit?vault=${vault}&show=alerts`);
      await appear(page.getByText("No matching events"));
    },
  },
  {
    name: "audit-loading",
    reach: async (page, { keep, vault }) => {
      await stallRequests(page, "**/audit?*limit*");
      await page.goto(`${keep.url}/audit?vault=${vault}`);
      await appear(page.getByRole("status", { name: "Loading events" }));
    },
  },
  {
    name: "audit-failed",
    isRefused: true,
    reach: async (page, { keep, vault }) => {
      await abortRequests(page, "**/audit?*limit*");
      await page.goto(`${keep.url}/audit?vault=${vault}`);
      await appear(page.getByText("Cannot reach Keep").first());
    },
  },
  {
    name: "audit-vaults-failed",
    isRefused: true,
    reach: async (page, { keep }) => {
      await abortRequests(page, "**/api/secrets/vaults?*");
      await page.goto(`${keep.url}/audit`);
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  {
    name: "audit-not-found",
    isRefused: true,
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/audit?vault=00000000-0000-7000-8000-000000000000`);
      await appear(page.getByText("Log not found"));
    },
  },
  {
    name: "audit-verified",
    reach: async (page, fixture) => {
      await openLog(page, fixture, fixture.vault);
      await press(page.getByRole("button", { name: "Verify" }));
      await appear(page.getByText("Log verified"));
    },
  },
  {
    name: "audit-tampered",
    reach: async (page, fixture) => {
      await openLog(page, fixture, fixture.vault);
      await tamperExports(page, { from: '"path":"/DATABASE_URL"', to: '"path":"/SHOP_URL"' });
      await press(page.getByRole("button", { name: "Verify" }));
      await appear(page.getByText("failed verification"));
    },
  },
];
