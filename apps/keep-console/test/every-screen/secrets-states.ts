import type { Page } from "playwright-core";
import {
  breakOff,
  chooseFrom,
  keepWaiting,
  makeSignInFresh,
  makeSignInOld,
  type Scene,
  type ScreenState,
  write,
} from "./scene.ts";

async function openList(page: Page, { stage, vault }: Scene, query = ""): Promise<void> {
  await page.goto(`${stage.url}/secrets/${vault}${query}`);
  await page.getByRole("row").nth(1).waitFor();
}

async function openSecret(page: Page, scene: Scene, name = "DATABASE_URL"): Promise<void> {
  await openList(page, scene);
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("button", { name: "Reveal" }).waitFor();
  await page.getByRole("button", { name: "More for version 1" }).waitFor();
}

export const secretListStates: readonly ScreenState[] = [
  {
    name: "secrets-empty",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/secrets`);
      await page.getByText("No secrets yet").waitFor();
    },
  },
  {
    name: "secrets-loading",
    reach: async (page, { stage, vault }) => {
      await keepWaiting(page, "**/secrets?*");
      await page.goto(`${stage.url}/secrets/${vault}`);
      await page.getByRole("status", { name: "Loading the secrets" }).waitFor();
    },
  },
  {
    name: "secrets-failed",
    isRefused: true,
    reach: async (page, { stage, vault }) => {
      await breakOff(page, "**/secrets?*");
      await page.goto(`${stage.url}/secrets/${vault}`);
      await page.getByText("Keep cannot be reached").waitFor();
    },
  },
  {
    name: "vaults-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/secrets/vaults?*");
      await page.goto(`${stage.url}/secrets`);
      await page.getByText("Keep cannot be reached").waitFor();
    },
  },
  {
    name: "session-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/session");
      await page.goto(`${stage.url}/secrets`);
      await page.getByText("Keep cannot be reached").waitFor();
    },
  },
  {
    name: "vault-denied",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/secrets/00000000-0000-4000-8000-000000000000`);
      await page.getByText("This vault is not here").waitFor();
    },
  },
  { name: "secrets-list", reach: (page, scene) => openList(page, scene) },
  { name: "secrets-folder", reach: (page, scene) => openList(page, scene, "?folder=/prod/api") },
  {
    name: "secrets-folder-empty",
    reach: async (page, { stage, vault }) => {
      await page.goto(`${stage.url}/secrets/${vault}?folder=/nothing`);
      await page.getByText("This folder is empty").waitFor();
    },
  },
  { name: "secrets-search", reach: (page, scene) => openList(page, scene, "?q=key") },
  {
    name: "secrets-search-empty",
    reach: async (page, { stage, vault }) => {
      await page.goto(`${stage.url}/secrets/${vault}?q=nothing-like-it`);
      await page.getByText("Nothing found").waitFor();
    },
  },
  {
    name: "vault-switcher",
    reach: async (page, scene) => {
      await openList(page, scene);
      await page.getByRole("button", { name: "Vault Web shop" }).click();
      await page.getByRole("menuitem", { name: "Field office" }).waitFor();
    },
  },
  {
    name: "secret-menu",
    reach: async (page, scene) => {
      await openList(page, scene);
      await page.getByRole("button", { name: "More for STRIPE_SECRET_KEY" }).click();
      await page.getByRole("menuitem", { name: "Copy the value" }).waitFor();
    },
  },
  { name: "deleted-list", reach: (page, scene) => openList(page, scene, "?state=deleted") },
  {
    name: "deleted-empty",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/secrets`);
      await chooseFrom(page, "More for this vault", "Recently deleted");
      await page.getByText("Nothing was deleted lately").waitFor();
    },
  },
  {
    name: "deleted-secret",
    reach: async (page, scene) => {
      await openList(page, scene, "?state=deleted");
      await page.getByRole("link", { name: "/OLD_PASSWORD" }).click();
      await page.getByRole("button", { name: "Restore" }).waitFor();
    },
  },
];

export const secretStates: readonly ScreenState[] = [
  {
    name: "new-secret",
    reach: async (page, scene) => {
      await openList(page, scene);
      await page.getByRole("button", { name: "New secret" }).click();
      await page.getByRole("textbox", { name: "Value" }).waitFor();
    },
  },
  {
    name: "new-secret-taken",
    isRefused: true,
    reach: async (page, scene) => {
      await openList(page, scene);
      await page.getByRole("button", { name: "New secret" }).click();
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("DATABASE_URL");
      await page.getByRole("textbox", { name: "Value" }).fill("another");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("There is a secret called DATABASE_URL already").waitFor();
    },
  },
  { name: "secret", reach: (page, scene) => openSecret(page, scene) },
  {
    name: "secret-missing",
    isRefused: true,
    reach: async (page, { stage, vault }) => {
      await page.goto(`${stage.url}/secrets/${vault}?secret=00000000-0000-7000-8000-000000000000`);
      await page.getByText("This secret is not here").waitFor();
    },
  },
  {
    name: "secret-revealed",
    reach: async (page, scene) => {
      await openSecret(page, scene);
      await page.getByRole("button", { name: "Reveal" }).click();
      await page.getByText("Ask the platform team").waitFor();
    },
  },
  {
    name: "secret-reveal-failed",
    isRefused: true,
    reach: async (page, scene) => {
      await breakOff(page, "**/value");
      await openSecret(page, scene);
      await page.getByRole("button", { name: "Reveal" }).click();
      await page.getByRole("alert").getByText("Keep cannot be reached").waitFor();
    },
  },
  {
    name: "secret-edit",
    reach: async (page, scene) => {
      await openSecret(page, scene);
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByRole("textbox", { name: "Value" }).waitFor();
    },
  },
  {
    name: "secret-conflict",
    isRefused: true,
    reach: async (page, scene) => {
      const shelf = { stage: scene.stage, page, vault: scene.vault };
      await openList(page, scene);
      await write(shelf, "SHARED_KEY", { value: "host=a\nport=1", tags: ["prod"] });
      await write(shelf, "SHARED_KEY", { value: "host=a\nport=2" });
      await openSecret(page, scene, "SHARED_KEY");
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByRole("textbox", { name: "Value" }).fill("host=mine\nport=2");
      await write(shelf, "SHARED_KEY", { value: "host=theirs\nport=2" });
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("It changed in the meantime").waitFor();
    },
  },
  {
    name: "secret-difference",
    reach: async (page, scene) => {
      await openSecret(page, scene);
      await chooseFrom(page, "More for version 1", "Compare with now");
      await page.locator(".diff-line.added").first().waitFor();
      await page.locator(".diff-line").last().scrollIntoViewIfNeeded();
    },
  },
  {
    name: "version-destroy",
    reach: async (page, scene) => {
      await openSecret(page, scene);
      await chooseFrom(page, "More for version 1", "Destroy");
      await page.getByRole("button", { name: "Destroy", exact: true }).waitFor();
    },
  },
  ...["Delete…", "Move or rename…"].map(
    (choice): ScreenState => ({
      name: choice.startsWith("Delete") ? "secret-delete" : "secret-move",
      reach: async (page, scene) => {
        await openList(page, scene);
        await chooseFrom(page, "More for STRIPE_SECRET_KEY", choice);
        await page.getByRole("dialog").waitFor();
      },
    }),
  ),
];

async function openDeed(page: Page, scene: Scene, deed: string): Promise<void> {
  await openList(page, scene);
  await chooseFrom(page, "More for this vault", deed);
  await page.getByRole("dialog").waitFor();
}

async function openVaultDeed(page: Page, scene: Scene, deed: string): Promise<void> {
  await openList(page, scene);
  await chooseFrom(page, "Vault Web shop", deed);
  await page.getByRole("dialog").waitFor();
}

export const vaultStates: readonly ScreenState[] = [
  { name: "folder-new", reach: (page, scene) => openDeed(page, scene, "New folder") },
  {
    name: "folder-delete",
    reach: async (page, scene) => {
      await openList(page, scene);
      await chooseFrom(page, "More for prod", "Delete…");
      await page.getByRole("dialog").waitFor();
    },
  },
  { name: "import", reach: (page, scene) => openDeed(page, scene, "Import") },
  {
    name: "import-preview",
    reach: async (page, scene) => {
      await openDeed(page, scene, "Import");
      await page
        .getByLabel("Content")
        .fill("MAIL_API_KEY=mail\nDATABASE_URL=other\nFRESH_ONE=1\nFRESH_TWO=2");
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByText("/FRESH_TWO").waitFor();
    },
  },
  {
    name: "import-refused",
    isRefused: true,
    reach: async (page, scene) => {
      await openDeed(page, scene, "Import");
      await page.getByLabel("Content").fill('{"broken": ');
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByRole("alert").waitFor();
    },
  },
  { name: "export", reach: (page, scene) => openDeed(page, scene, "Export") },
  {
    name: "export-sign-in-again",
    isRefused: true,
    reach: async (page, scene) => {
      await openDeed(page, scene, "Export");
      makeSignInOld(scene);
      await page.getByRole("button", { name: "Export", exact: true }).click();
      await page.getByRole("button", { name: "Sign in again with Example" }).waitFor();
    },
    leave: makeSignInFresh,
  },
  { name: "vault-new", reach: (page, scene) => openVaultDeed(page, scene, "New vault") },
  {
    name: "vault-settings",
    reach: async (page, scene) => {
      await openVaultDeed(page, scene, "Settings of this vault");
      await page.getByLabel("Versions kept of each secret").waitFor();
    },
  },
  {
    name: "vault-delete",
    reach: async (page, scene) => {
      await openVaultDeed(page, scene, "Settings of this vault");
      await page.getByRole("button", { name: "Delete this vault" }).click();
      await page.getByRole("button", { name: "Delete the vault" }).waitFor();
    },
  },
  {
    name: "deleted-vaults",
    reach: async (page, scene) => {
      await openVaultDeed(page, scene, "Deleted vaults");
      await page.getByText("Last year").waitFor();
    },
  },
  {
    name: "toast",
    reach: async (page, scene) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await openList(page, scene);
      await chooseFrom(page, "More for STRIPE_SECRET_KEY", "Copy the value");
      await page.getByText("Copied STRIPE_SECRET_KEY").waitFor();
    },
  },
];
