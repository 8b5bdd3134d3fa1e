import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { abortRequests, type ConsoleState, type ScreenFixture } from "./screen-fixture.ts";
import { openList } from "./secrets-states.ts";

async function search(page: Page, fixture: ScreenFixture, text: string): Promise<void> {
  await openList(page, fixture);
  await press(page.getByRole("button", { name: "Search all vaults" }));
  await page.getByRole("dialog").getByRole("searchbox").fill(text);
}

export const searchStates: readonly ConsoleState[] = [
  {
    name: "search",
    reach: async (page, fixture) => {
      await search(page, fixture, "");
      await appear(page.getByText("Secrets are found by"));
    },
  },
  {
    name: "search-results",
    reach: async (page, fixture) => {
      await search(page, fixture, "prod");
      await appear(page.getByRole("link", { name: "/prod/api/SESSION_KEY" }));
    },
  },
  {
    name: "search-empty",
    reach: async (page, fixture) => {
      await search(page, fixture, "nothing-like-it");
      await appear(page.getByText("No results"));
    },
  },
  {
    name: "search-failed",
    isRefused: true,
    reach: async (page, fixture) => {
      await abortRequests(page, "**/api/secrets/search?*");
      await search(page, fixture, "prod");
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
];
