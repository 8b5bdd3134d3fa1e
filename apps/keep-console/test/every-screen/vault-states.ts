import { appear, press } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import {
  abortRequests,
  type ConsoleState,
  chooseMenuItem,
  expireSignIn,
  refreshSignIn,
  type ScreenFixture,
  writeSecret,
} from "./screen-fixture.ts";
import { openList } from "./secrets-states.ts";

async function openVaultAction(page: Page, fixture: ScreenFixture, action: string): Promise<void> {
  await openList(page, fixture);
  await chooseMenuItem(page, "More vault actions", action);
  await appear(page.getByRole("dialog"));
}

async function openSwitcherAction(page: Page, fixture: ScreenFixture, action: string): Promise<void> {
  await openList(page, fixture);
  await chooseMenuItem(page, "Vault Web shop", action);
  await appear(page.getByRole("dialog"));
}

async function openTransfer(page: Page, url: string, name: string): Promise<void> {
  await page.goto(url);
  await chooseMenuItem(page, `Vault ${name}`, "Vault settings…");
  await press(page.getByRole("button", { name: "Transfer vault…" }));
  await appear(page.getByRole("dialog", { name: `Transfer ${name}` }));
}

/** The response if the other account has as many vaults as it may. */
const tooManyVaults = {
  status: 409,
  contentType: "application/problem+json",
  body: JSON.stringify({ title: "Limit of 100 vaults reached", code: "quota_exceeded", status: 409 }),
};

export const vaultStates: readonly ConsoleState[] = [
  { name: "folder-new", reach: (page, fixture) => openVaultAction(page, fixture, "New folder") },
  {
    name: "folder-delete",
    reach: async (page, fixture) => {
      await openList(page, fixture);
      await chooseMenuItem(page, "More actions for prod", "Delete…");
      await appear(page.getByRole("dialog"));
    },
  },
  { name: "import", reach: (page, fixture) => openVaultAction(page, fixture, "Import") },
  {
    name: "import-preview",
    reach: async (page, fixture) => {
      await openVaultAction(page, fixture, "Import");
      await page
        .getByLabel("Content")
        .fill("MAIL_API_KEY=mail\nDATABASE_URL=other\nFRESH_ONE=1\nFRESH_TWO=2");
      await press(page.getByRole("button", { name: "Preview" }));
      await appear(page.getByText("/FRESH_TWO"));
    },
  },
  {
    name: "import-invalid",
    isRefused: true,
    reach: async (page, fixture) => {
      await openVaultAction(page, fixture, "Import");
      await page.getByLabel("Content").fill('{"broken": ');
      await press(page.getByRole("button", { name: "Preview" }));
      await appear(page.getByRole("alert"));
    },
  },
  { name: "export", reach: (page, fixture) => openVaultAction(page, fixture, "Export") },
  {
    name: "export-sign-in-again",
    isRefused: true,
    reach: async (page, fixture) => {
      await openVaultAction(page, fixture, "Export");
      expireSignIn(fixture);
      await press(page.getByRole("button", { name: "Export", exact: true }));
      await appear(page.getByRole("button", { name: "Sign in again with Example" }));
    },
    leave: refreshSignIn,
  },
  { name: "vault-new", reach: (page, fixture) => openSwitcherAction(page, fixture, "New vault") },
  {
    name: "vault-settings",
    reach: async (page, fixture) => {
      await openSwitcherAction(page, fixture, "Vault settings");
      await appear(page.getByLabel("Maximum versions per secret"));
    },
  },
  {
    name: "vault-delete",
    reach: async (page, fixture) => {
      await openSwitcherAction(page, fixture, "Vault settings");
      await press(page.getByRole("button", { name: "Delete vault…" }));
      await appear(page.getByRole("button", { name: "Delete vault", exact: true }));
    },
  },
  {
    name: "vault-transfer",
    reach: async (page, { keep, teams }) => {
      await openTransfer(page, `${keep.url}/secrets/${teams.vault}`, "Payments");
      await press(page.getByRole("button", { name: "Transfer vault", exact: true }));
      await appear(page.getByText("Enter Payments exactly as shown"));
    },
  },
  {
    name: "vault-transfer-protected",
    reach: async (page, { keep, teams }) => {
      await openTransfer(page, `${keep.url}/secrets/${teams.approvals.vault}`, "Ledger");
      await appear(page.getByText("This vault has protected paths"));
    },
  },
  {
    name: "vault-transfer-refused",
    isRefused: true,
    reach: async (page, { keep, teams }) => {
      await openTransfer(page, `${keep.url}/secrets/${teams.vault}`, "Payments");
      await page.getByLabel("Type Payments to confirm").fill("Payments");
      await page.route("**/transfer", (route) => route.fulfill(tooManyVaults));
      await press(page.getByRole("button", { name: "Transfer vault", exact: true }));
      await appear(page.getByText("Delete what is not needed in the other account"));
    },
  },
  {
    name: "deleted-vaults",
    reach: async (page, fixture) => {
      await openSwitcherAction(page, fixture, "Deleted vaults");
      await appear(page.getByText("Last year"));
    },
  },
  {
    name: "toast",
    reach: async (page, fixture) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await openList(page, fixture);
      await chooseMenuItem(page, "More actions for STRIPE_SECRET_KEY", "Copy value");
      await appear(page.getByText("Copied STRIPE_SECRET_KEY"));
    },
  },
  {
    name: "undo-delete",
    reach: async (page, fixture) => {
      await openList(page, fixture);
      await writeSecret({ keep: fixture.keep, page, vault: fixture.vault }, "EXPIRED_KEY", { value: "old" });
      await openList(page, fixture);
      await chooseMenuItem(page, "More actions for EXPIRED_KEY", "Delete…");
      await press(page.getByRole("button", { name: "Delete", exact: true }));
      await appear(page.getByRole("button", { name: "Undo" }));
    },
  },
  ...(["Move…", "Delete…", "Add tag…", "Remove tag…", "Export…"] as const).map(
    (choice): ConsoleState => ({
      name: `bulk-${choice.slice(0, -1).toLowerCase().replace(" ", "-")}`,
      reach: async (page, fixture) => {
        await selectRows(page, fixture);
        await press(page.getByRole("region", { name: "Selection" }).getByRole("button", { name: choice }));
        await appear(page.getByRole("dialog"));
      },
    }),
  ),
  { name: "bulk-selection", reach: selectRows },
  {
    name: "bulk-delete-refused",
    isRefused: true,
    reach: async (page, fixture) => {
      await selectRows(page, fixture);
      await abortRequests(page, "**/batch");
      await press(page.getByRole("button", { name: "Delete…" }));
      await press(page.getByRole("button", { name: "Delete", exact: true }));
      await appear(page.getByText("Cannot reach Keep"));
    },
  },
  {
    name: "bulk-tag-refused",
    isRefused: true,
    reach: async (page, fixture) => {
      await selectRows(page, fixture);
      await abortRequests(page, "**/secrets/*");
      await press(page.getByRole("button", { name: "Add tag…" }));
      await page.getByRole("textbox", { name: "Tag" }).fill("reviewed");
      await press(page.getByRole("button", { name: "Add tag", exact: true }));
      await appear(page.getByText("Not all tags were changed"));
    },
  },
  {
    name: "bulk-restore",
    reach: async (page, fixture) => {
      await openList(page, fixture, "?state=deleted");
      await press(page.getByRole("checkbox", { name: "Select all loaded rows" }));
      await press(page.getByRole("button", { name: "Restore…" }));
      await appear(page.getByRole("dialog"));
    },
  },
];

async function selectRows(page: Page, fixture: ScreenFixture): Promise<void> {
  await openList(page, fixture);
  for (const name of ["DATABASE_URL", "STRIPE_SECRET_KEY"])
    await press(page.getByRole("checkbox", { name: `Select ${name}`, exact: true }));
  await appear(page.getByText("2 selected"));
}
