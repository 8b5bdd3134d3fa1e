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
  write,
} from "./scene.ts";

async function openList(page: Page, { stage, vault }: Scene, query = ""): Promise<void> {
  await page.goto(`${stage.url}/secrets/${vault}${query}`);
  await appear(page.getByRole("row").nth(1));
}

async function openSecret(page: Page, scene: Scene, name = "DATABASE_URL"): Promise<void> {
  await openList(page, scene);
  await press(page.getByRole("link", { name, exact: true }));
  await appear(page.getByRole("button", { name: "Reveal" }));
  await appear(page.getByRole("button", { name: "More for version 1" }));
}

export const secretListStates: readonly ConsoleState[] = [
  {
    name: "secrets-empty",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/secrets`);
      await appear(page.getByText("No secrets yet"));
    },
  },
  {
    name: "secrets-loading",
    reach: async (page, { stage, vault }) => {
      await keepWaiting(page, "**/secrets?*");
      await page.goto(`${stage.url}/secrets/${vault}`);
      await appear(page.getByRole("status", { name: "Loading the secrets" }));
    },
  },
  {
    name: "secrets-failed",
    isRefused: true,
    reach: async (page, { stage, vault }) => {
      await breakOff(page, "**/secrets?*");
      await page.goto(`${stage.url}/secrets/${vault}`);
      await appear(page.getByText("Keep cannot be reached"));
    },
  },
  {
    name: "vaults-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/secrets/vaults?*");
      await page.goto(`${stage.url}/secrets`);
      await appear(page.getByText("Keep cannot be reached"));
    },
  },
  {
    name: "session-failed",
    isRefused: true,
    reach: async (page, { stage }) => {
      await breakOff(page, "**/api/session");
      await page.goto(`${stage.url}/secrets`);
      await appear(page.getByText("Keep cannot be reached"));
    },
  },
  {
    name: "vault-denied",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/secrets/00000000-0000-4000-8000-000000000000`);
      await appear(page.getByText("This vault is not here"));
    },
  },
  { name: "secrets-list", reach: (page, scene) => openList(page, scene) },
  { name: "secrets-folder", reach: (page, scene) => openList(page, scene, "?folder=/prod/api") },
  {
    name: "secrets-folder-empty",
    reach: async (page, { stage, vault }) => {
      await page.goto(`${stage.url}/secrets/${vault}?folder=/nothing`);
      await appear(page.getByText("This folder is empty"));
    },
  },
  { name: "secrets-search", reach: (page, scene) => openList(page, scene, "?q=key") },
  {
    name: "secrets-search-empty",
    reach: async (page, { stage, vault }) => {
      await page.goto(`${stage.url}/secrets/${vault}?q=nothing-like-it`);
      await appear(page.getByText("Nothing found"));
    },
  },
  {
    name: "vault-switcher",
    reach: async (page, scene) => {
      await openList(page, scene);
      await press(page.getByRole("button", { name: "Vault Web shop" }));
      await appear(page.getByRole("menuitem", { name: "Field office" }));
    },
  },
  {
    name: "secret-menu",
    reach: async (page, scene) => {
      await openList(page, scene);
      await press(page.getByRole("button", { name: "More for STRIPE_SECRET_KEY" }));
      await appear(page.getByRole("menuitem", { name: "Copy the value" }));
    },
  },
  { name: "deleted-list", reach: (page, scene) => openList(page, scene, "?state=deleted") },
  {
    name: "deleted-empty",
    looker: "newcomer",
    reach: async (page, { stage }) => {
      await page.goto(`${stage.url}/secrets`);
      await chooseFrom(page, "More for this vault", "Recently deleted");
      await appear(page.getByText("Nothing was deleted lately"));
    },
  },
  {
    name: "deleted-secret",
    reach: async (page, scene) => {
      await openList(page, scene, "?state=deleted");
      await press(page.getByRole("link", { name: "/OLD_PASSWORD" }));
      await appear(page.getByRole("button", { name: "Restore" }));
    },
  },
];

export const secretStates: readonly ConsoleState[] = [
  {
    name: "new-secret",
    reach: async (page, scene) => {
      await openList(page, scene);
      await press(page.getByRole("button", { name: "New secret" }));
      await appear(page.getByRole("textbox", { name: "Value" }));
    },
  },
  {
    name: "new-secret-taken",
    isRefused: true,
    reach: async (page, scene) => {
      await openList(page, scene);
      await press(page.getByRole("button", { name: "New secret" }));
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("DATABASE_URL");
      await page.getByRole("textbox", { name: "Value" }).fill("another");
      await press(page.getByRole("button", { name: "Save" }));
      await appear(page.getByText("There is a secret called DATABASE_URL already"));
    },
  },
  { name: "secret", reach: (page, scene) => openSecret(page, scene) },
  {
    name: "secret-missing",
    isRefused: true,
    reach: async (page, { stage, vault }) => {
      await page.goto(`${stage.url}/secrets/${vault}?secret=00000000-0000-7000-8000-000000000000`);
      await appear(page.getByText("This secret is not here"));
    },
  },
  {
    name: "secret-revealed",
    reach: async (page, scene) => {
      await openSecret(page, scene);
      await press(page.getByRole("button", { name: "Reveal" }));
      await appear(page.getByText("Ask the platform team"));
    },
  },
  {
    name: "secret-reveal-failed",
    isRefused: true,
    reach: async (page, scene) => {
      await breakOff(page, "**/value");
      await openSecret(page, scene);
      await press(page.getByRole("button", { name: "Reveal" }));
      await appear(page.getByRole("alert").getByText("Keep cannot be reached"));
    },
  },
  {
    name: "secret-edit",
    reach: async (page, scene) => {
      await openSecret(page, scene);
      await press(page.getByRole("button", { name: "Edit" }));
      await appear(page.getByRole("textbox", { name: "Value" }));
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
      await press(page.getByRole("button", { name: "Edit" }));
      await page.getByRole("textbox", { name: "Value" }).fill("host=mine\nport=2");
      await write(shelf, "SHARED_KEY", { value: "host=theirs\nport=2" });
      await press(page.getByRole("button", { name: "Save" }));
      await appear(page.getByText("It changed in the meantime"));
    },
  },
  {
    name: "secret-difference",
    reach: async (page, scene) => {
      await openSecret(page, scene);
      await chooseFrom(page, "More for version 1", "Compare with now");
      await appear(page.locator(".diff-line.added").first());
      await page.locator(".diff-line").last().scrollIntoViewIfNeeded();
    },
  },
  {
    name: "version-destroy",
    reach: async (page, scene) => {
      await openSecret(page, scene);
      await chooseFrom(page, "More for version 1", "Destroy");
      await appear(page.getByRole("button", { name: "Destroy", exact: true }));
    },
  },
  ...["Delete…", "Move or rename…"].map(
    (choice): ConsoleState => ({
      name: choice.startsWith("Delete") ? "secret-delete" : "secret-move",
      reach: async (page, scene) => {
        await openList(page, scene);
        await chooseFrom(page, "More for STRIPE_SECRET_KEY", choice);
        await appear(page.getByRole("dialog"));
      },
    }),
  ),
];

async function openDeed(page: Page, scene: Scene, deed: string): Promise<void> {
  await openList(page, scene);
  await chooseFrom(page, "More for this vault", deed);
  await appear(page.getByRole("dialog"));
}

async function openVaultDeed(page: Page, scene: Scene, deed: string): Promise<void> {
  await openList(page, scene);
  await chooseFrom(page, "Vault Web shop", deed);
  await appear(page.getByRole("dialog"));
}

export const vaultStates: readonly ConsoleState[] = [
  { name: "folder-new", reach: (page, scene) => openDeed(page, scene, "New folder") },
  {
    name: "folder-delete",
    reach: async (page, scene) => {
      await openList(page, scene);
      await chooseFrom(page, "More for prod", "Delete…");
      await appear(page.getByRole("dialog"));
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
      await press(page.getByRole("button", { name: "Preview" }));
      await appear(page.getByText("/FRESH_TWO"));
    },
  },
  {
    name: "import-refused",
    isRefused: true,
    reach: async (page, scene) => {
      await openDeed(page, scene, "Import");
      await page.getByLabel("Content").fill('{"broken": ');
      await press(page.getByRole("button", { name: "Preview" }));
      await appear(page.getByRole("alert"));
    },
  },
  { name: "export", reach: (page, scene) => openDeed(page, scene, "Export") },
  {
    name: "export-sign-in-again",
    isRefused: true,
    reach: async (page, scene) => {
      await openDeed(page, scene, "Export");
      makeSignInOld(scene);
      await press(page.getByRole("button", { name: "Export", exact: true }));
      await appear(page.getByRole("button", { name: "Sign in again with Example" }));
    },
    leave: makeSignInFresh,
  },
  { name: "vault-new", reach: (page, scene) => openVaultDeed(page, scene, "New vault") },
  {
    name: "vault-settings",
    reach: async (page, scene) => {
      await openVaultDeed(page, scene, "Settings of this vault");
      await appear(page.getByLabel("Versions kept of each secret"));
    },
  },
  {
    name: "vault-delete",
    reach: async (page, scene) => {
      await openVaultDeed(page, scene, "Settings of this vault");
      await press(page.getByRole("button", { name: "Delete this vault" }));
      await appear(page.getByRole("button", { name: "Delete the vault" }));
    },
  },
  {
    name: "deleted-vaults",
    reach: async (page, scene) => {
      await openVaultDeed(page, scene, "Deleted vaults");
      await appear(page.getByText("Last year"));
    },
  },
  {
    name: "toast",
    reach: async (page, scene) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await openList(page, scene);
      await chooseFrom(page, "More for STRIPE_SECRET_KEY", "Copy the value");
      await appear(page.getByText("Copied STRIPE_SECRET_KEY"));
    },
  },
];
