import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { hostileRows, type MockUsage, mockUsage, ordinaryRows, usagePattern } from "../mock-usage.ts";
import {
  abortRequests,
  mockInferenceKey,
  openSection,
  type PageState,
  stallRequests,
} from "./screen-state.ts";

async function openUsage(page: Page, url: string, usage: MockUsage): Promise<void> {
  await mockUsage(page, usage);
  await openSection(page, url, "usage");
}

async function openReport(page: Page, url: string, rowsOf: MockUsage["rowsOf"]): Promise<void> {
  await openUsage(page, url, { rowsOf });
  await appear(page.getByRole("img", { name: /^Tokens per day/u }));
  await appear(page.getByRole("button", { name: "Download CSV" }));
}

export const usageStates: readonly PageState[] = [
  { name: "usage", reach: (page, url) => openReport(page, url, ordinaryRows) },
  {
    name: "usage-hours",
    reach: async (page, url) => {
      await openReport(page, url, ordinaryRows);
      await press(page.getByRole("button", { name: "24 hours" }));
      await appear(page.getByRole("img", { name: /^Tokens per hour/u }));
    },
  },
  {
    name: "usage-models",
    reach: async (page, url) => {
      await openReport(page, url, ordinaryRows);
      await press(page.getByRole("button", { name: "30 days" }));
      await press(page.getByRole("button", { name: "Model", exact: true }));
      await appear(page.getByRole("img", { name: /^Tokens per model/u }));
    },
  },
  {
    name: "usage-table",
    reach: async (page, url) => {
      await openReport(page, url, ordinaryRows);
      await press(page.getByText("Tokens per day as a table"));
      await press(page.getByRole("button", { name: "Output tokens" }));
      await page.getByRole("region", { name: "Usage by key" }).scrollIntoViewIfNeeded();
    },
  },
  {
    name: "usage-hostile",
    reach: async (page, url) => {
      await openReport(page, url, hostileRows);
      await press(page.getByRole("button", { name: "30 days" }));
      await appear(page.getByRole("img", { name: /^Tokens per key/u }));
    },
  },
  {
    name: "usage-hostile-table",
    reach: async (page, url) => {
      await openReport(page, url, hostileRows);
      await page.getByRole("heading", { name: "Keys" }).evaluate((heading) => heading.scrollIntoView());
    },
  },
  {
    name: "usage-file-failed",
    isRefused: true,
    reach: async (page, url) => {
      await openReport(page, url, ordinaryRows);
      const body = JSON.stringify({ error: "the server is busy", code: "server-busy" });
      await page.route("**/api/usage?*format=csv", (route) => route.fulfill({ status: 503, body }));
      await press(page.getByRole("button", { name: "Download CSV" }));
      await appear(page.getByText("Try again in a moment."));
    },
  },
  {
    name: "usage-inference-key",
    reach: async (page, url) => {
      await mockInferenceKey(page);
      await openReport(page, url, (index) => ordinaryRows(index).slice(0, 1));
      await appear(page.getByText("This is the usage of your API key."));
    },
  },
  {
    name: "usage-empty",
    reach: async (page, url) => {
      await openUsage(page, url, { rowsOf: () => [] });
      await appear(page.getByText("No requests in the last 7 days"));
    },
  },
  {
    name: "usage-not-recorded",
    reach: async (page, url) => {
      await openUsage(page, url, { rowsOf: () => [], ledger: "off" });
      await appear(page.getByText("hearth keys create NAME"));
    },
  },
  {
    name: "usage-loading",
    reach: async (page, url) => {
      await stallRequests(page, usagePattern);
      await openSection(page, url, "usage");
      await appear(page.getByRole("status", { name: "Loading usage" }));
    },
  },
  {
    name: "usage-unreachable",
    isRefused: true,
    reach: async (page, url) => {
      await abortRequests(page, usagePattern);
      await openSection(page, url, "usage");
      await appear(page.getByText("Cannot reach Hearth"));
    },
  },
  {
    name: "usage-forbidden",
    isRefused: true,
    reach: async (page, url) => {
      const body = JSON.stringify({ error: "this requires an admin key", code: "admin-key-required" });
      await page.route(usagePattern, (route) => route.fulfill({ status: 403, body }));
      await openSection(page, url, "usage");
      await appear(page.getByText("Ask whoever runs this server for an admin key."));
    },
  },
];
