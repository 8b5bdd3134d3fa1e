import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  abortRequests,
  type ConsoleState,
  chooseMenuItem,
  type ScreenFixture,
  stallRequests,
  writeSecret,
} from "./screen-fixture.ts";

export async function openList(page: Page, { keep, vault }: ScreenFixture, query = ""): Promise<void> {
  await page.goto(`${keep.url}/secrets/${vault}${query}`);
  await appear(page.getByRole("row").nth(1));
}

async function openSecret(page: Page, fixture: ScreenFixture, name = "DATABASE_URL"): Promise<void> {
  await openList(page, fixture);
  await press(page.getByRole("link", { name, exact: true }));
  await appear(page.getByRole("button", { name: "Reveal" }));
  await appear(page.getByRole("button", { name: "More actions for version 1" }));
}

export const secretListStates: readonly ConsoleState[] = [
  {
    name: "secrets-empty",
    viewer: "newcomer",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/secrets`);
      await appear(page.getByText("No secrets yet"));
    },
  },
  {
    name: "secrets-loading",
    reach: async (page, { keep, vault }) => {
      await stallRequests(page, "**/secrets?*");
      await page.goto(`${keep.url}/secrets/${vault}`);
      await appear(page.getByRole("status", { name: "Loading secrets" }));
    },
  },
  {
    name: "secrets-failed",
    isRefused: true,
    reach: async (page, { keep, vault }) => {
      await abortRequests(page, "**/secrets?*");
      await page.goto(`${keep.url}/secrets/${vault}`);
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  {
    name: "vaults-failed",
    isRefused: true,
    reach: async (page, { keep }) => {
      await abortRequests(page, "**/api/secrets/vaults?*");
      await page.goto(`${keep.url}/secrets`);
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  {
    name: "session-failed",
    isRefused: true,
    reach: async (page, { keep }) => {
      await abortRequests(page, "**/api/session");
      await page.goto(`${keep.url}/secrets`);
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  {
    name: "vault-not-found",
    isRefused: true,
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/secrets/00000000-0000-4000-8000-000000000000`);
      await appear(page.getByText("Vault not found"));
    },
  },
  { name: "secrets-list", reach: (page, fixture) => openList(page, fixture) },
  { name: "secrets-sorted", reach: (page, fixture) => openList(page, fixture, "?sort=-updated") },
  {
    name: "secrets-values",
    reach: async (page, fixture) => {
      await openList(page, fixture);
      await press(page.getByRole("button", { name: "Show values" }));
      await appear(page.getByRole("button", { name: "Hide values" }));
    },
  },
  {
    name: "secrets-values-failed",
    isRefused: true,
    reach: async (page, fixture) => {
      await abortRequests(page, "**/values?*");
      await openList(page, fixture);
      await press(page.getByRole("button", { name: "Show values" }));
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  { name: "secrets-folder", reach: (page, fixture) => openList(page, fixture, "?folder=/prod/api") },
  {
    name: "secrets-folder-empty",
    reach: async (page, { keep, vault }) => {
      await page.goto(`${keep.url}/secrets/${vault}?folder=/nothing`);
      await appear(page.getByText("This folder is empty"));
    },
  },
  { name: "secrets-search", reach: (page, fixture) => openList(page, fixture, "?q=key") },
  {
    name: "secrets-search-empty",
    reach: async (page, { keep, vault }) => {
      await page.goto(`${keep.url}/secrets/${vault}?q=nothing-like-it`);
      await appear(page.getByText("No results"));
    },
  },
  {
    name: "vault-switcher",
    reach: async (page, fixture) => {
      await openList(page, fixture);
      await press(page.getByRole("button", { name: "Vault Web shop" }));
      await appear(page.getByRole("menuitem", { name: "Field office" }));
    },
  },
  {
    name: "secret-menu",
    reach: async (page, fixture) => {
      await openList(page, fixture);
      await press(page.getByRole("button", { name: "More actions for STRIPE_SECRET_KEY" }));
      await appear(page.getByRole("menuitem", { name: "Copy value" }));
    },
  },
  { name: "deleted-list", reach: (page, fixture) => openList(page, fixture, "?state=deleted") },
  {
    name: "deleted-empty",
    viewer: "newcomer",
    reach: async (page, { keep }) => {
      await page.goto(`${keep.url}/secrets`);
      await chooseMenuItem(page, "More vault actions", "Recently deleted");
      await appear(page.getByText("No deleted secrets"));
    },
  },
  {
    name: "deleted-secret",
    reach: async (page, fixture) => {
      await openList(page, fixture, "?state=deleted");
      await press(page.getByRole("link", { name: "/OLD_PASSWORD" }));
      await appear(page.getByRole("button", { name: "Restore" }));
    },
  },
];

export const secretStates: readonly ConsoleState[] = [
  {
    name: "new-secret",
    reach: async (page, fixture) => {
      await openList(page, fixture);
      await press(page.getByRole("button", { name: "New secret" }));
      await appear(page.getByRole("textbox", { name: "Value" }));
    },
  },
  {
    name: "new-secret-exists",
    isRefused: true,
    reach: async (page, fixture) => {
      await openList(page, fixture);
      await press(page.getByRole("button", { name: "New secret" }));
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("DATABASE_URL");
      await page.getByRole("textbox", { name: "Value" }).fill("another");
      await press(page.getByRole("button", { name: "Save" }));
      await appear(page.getByText("A secret named DATABASE_URL already exists"));
    },
  },
  { name: "secret", reach: (page, fixture) => openSecret(page, fixture) },
  {
    name: "secret-missing",
    isRefused: true,
    reach: async (page, { keep, vault }) => {
      await page.goto(`${keep.url}/secrets/${vault}?secret=00000000-0000-7000-8000-000000000000`);
      await appear(page.getByText("Secret not found"));
    },
  },
  {
    name: "secret-revealed",
    reach: async (page, fixture) => {
      await openSecret(page, fixture);
      await press(page.getByRole("button", { name: "Reveal" }));
      await appear(page.getByText("Ask the platform team"));
    },
  },
  {
    name: "secret-reveal-failed",
    isRefused: true,
    reach: async (page, fixture) => {
      await abortRequests(page, "**/value");
      await openSecret(page, fixture);
      await press(page.getByRole("button", { name: "Reveal" }));
      await appear(page.getByRole("alert").getByText("Cannot reach Keep"));
    },
  },
  {
    name: "secret-edit",
    reach: async (page, fixture) => {
      await openSecret(page, fixture);
      await press(page.getByRole("button", { name: "Edit" }));
      await appear(page.getByRole("textbox", { name: "Value" }));
    },
  },
  {
    name: "secret-conflict",
    isRefused: true,
    reach: async (page, fixture) => {
      const target = { keep: fixture.keep, page, vault: fixture.vault };
      await openList(page, fixture);
      await writeSecret(target, "SHARED_KEY", { value: "host=a\nport=1", tags: ["prod"] });
      await writeSecret(target, "SHARED_KEY", { value: "host=a\nport=2" });
      await openSecret(page, fixture, "SHARED_KEY");
      await press(page.getByRole("button", { name: "Edit" }));
      await page.getByRole("textbox", { name: "Value" }).fill("host=mine\nport=2");
      await writeSecret(target, "SHARED_KEY", { value: "host=theirs\nport=2" });
      await press(page.getByRole("button", { name: "Save" }));
      await appear(page.getByText("This secret changed while you were editing"));
    },
  },
  {
    name: "secret-difference",
    reach: async (page, fixture) => {
      await openSecret(page, fixture);
      await chooseMenuItem(page, "More actions for version 1", "Compare with current");
      await appear(page.locator(".diff-line.added").first());
      await page.locator(".diff-line").last().scrollIntoViewIfNeeded();
    },
  },
  {
    name: "version-destroy",
    reach: async (page, fixture) => {
      await openSecret(page, fixture);
      await chooseMenuItem(page, "More actions for version 1", "Destroy");
      await appear(page.getByRole("button", { name: "Destroy", exact: true }));
    },
  },
  ...["Delete…", "Move or rename…"].map(
    (choice): ConsoleState => ({
      name: choice.startsWith("Delete") ? "secret-delete" : "secret-move",
      reach: async (page, fixture) => {
        await openList(page, fixture);
        await chooseMenuItem(page, "More actions for STRIPE_SECRET_KEY", choice);
        await appear(page.getByRole("dialog"));
      },
    }),
  ),
];
