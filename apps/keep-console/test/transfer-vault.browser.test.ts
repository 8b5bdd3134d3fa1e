import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { chooseMenuItem, createVault, writeSecret } from "./every-screen/screen-fixture.ts";
import {
  addMember,
  createOrganisation,
  createSharedVault,
  memberAccount,
  shareVault,
} from "./team-fixture.ts";

let keep: ConsoleFixture;
let owner: Page;
let acme: string;

beforeAll(async () => {
  keep = await startConsoleFixture();
  owner = await keep.signIn();
  owner.setDefaultTimeout(20_000);
});

afterAll(() => keep?.[Symbol.asyncDispose]());

/** Opens the dialog from the settings of a vault. */
async function openTransfer(page: Page, vault: string, name: string) {
  await page.goto(`${keep.url}/secrets/${vault}`);
  await chooseMenuItem(page, `Vault ${name}`, "Vault settings…");
  await page.getByRole("button", { name: "Transfer vault…" }).click();
  const dialog = page.getByRole("dialog", { name: `Transfer ${name}` });
  await dialog.waitFor();
  return dialog;
}

async function confirm(page: Page, name: string): Promise<void> {
  await page.getByLabel(`Type ${name} to confirm`).fill(name);
  await page.getByRole("button", { name: "Transfer vault", exact: true }).click();
}

const readValue = (page: Page, vault: string): Promise<{ value: string }> =>
  keep.request(page, `/api/secrets/vaults/${vault}/values/by-path/KEY`);

test("a person who owns no organisation reads where a vault could be transferred, and creates one", async () => {
  const vault = await createVault(keep, owner, "Project");
  const dialog = await openTransfer(owner, vault, "Project");
  await dialog.getByText("You can transfer a vault to an organisation that you own").waitFor();
  expect(await dialog.getByRole("button", { name: "Transfer vault" }).count()).toBe(0);
  await dialog.getByRole("link", { name: "Create an organisation" }).click();
  await owner.getByText("No organisations yet").waitFor();
  acme = await createOrganisation(keep, owner, "Acme");
});

test("a vault of one's own account is transferred to an organisation, under the same URL", async () => {
  const vault = await createVault(keep, owner, "Shop");
  await writeSecret({ keep, page: owner, vault }, "KEY", { value: "one" });
  const dialog = await openTransfer(owner, vault, "Shop");
  await dialog.getByText("The vault keeps its id, its secrets with all versions").waitFor();
  await dialog.getByText("The access of tokens and trust rules").waitFor();
  await owner.getByRole("button", { name: "Transfer vault", exact: true }).click();
  await owner.getByText("Enter Shop exactly as shown").waitFor();
  await confirm(owner, "Shop");
  await owner.getByText("Shop transferred to Acme").waitFor();
  await owner.getByRole("link", { name: "Acme" }).waitFor();
  await owner.getByRole("link", { name: "KEY", exact: true }).waitFor();
  expect(new URL(owner.url()).pathname).toBe(`/secrets/${vault}`);
  expect(await readValue(owner, vault)).toMatchObject({ value: "one" });
});

test("a vault of an organisation returns to its owner's account, and a member loses it", async () => {
  const member = await keep.signIn(memberAccount);
  member.setDefaultTimeout(20_000);
  const person = await addMember(keep, { organisation: acme, owner, person: member });
  const secrets = { KEY: "two" };
  const vault = await createSharedVault(keep, { organisation: acme, owner, name: "Payments", secrets });
  await shareVault(keep, { vault, owner, holder: { type: "person", id: person }, role: "manager" });
  expect(await readValue(member, vault)).toMatchObject({ value: "two" });
  await member.goto(`${keep.url}/secrets/${vault}`);
  await chooseMenuItem(member, "Vault Payments", "Vault settings…");
  await member.getByRole("button", { name: "Delete vault…" }).waitFor();
  expect(await member.getByRole("button", { name: "Transfer vault…" }).count()).toBe(0);
  const dialog = await openTransfer(owner, vault, "Payments");
  await dialog.getByText("all that members and teams were granted in it").waitFor();
  await confirm(owner, "Payments");
  await owner.getByText("Payments transferred to your own account").waitFor();
  await expect.poll(() => owner.getByRole("link", { name: "Acme" }).count()).toBe(0);
  expect(await readValue(owner, vault)).toMatchObject({ value: "two" });
  await member.goto(`${keep.url}/secrets/${vault}`);
  await member.getByText("Vault not found").waitFor();
});

test("a vault with several possible targets asks which one, and names what is missing", async () => {
  await createOrganisation(keep, owner, "Globex");
  const vault = await createVault(keep, owner, "Chosen");
  await openTransfer(owner, vault, "Chosen");
  await confirm(owner, "Chosen");
  await owner.getByText("Choose an account").waitFor();
  await owner.getByLabel("Transfer to").selectOption("Globex");
  await owner.getByRole("button", { name: "Transfer vault", exact: true }).click();
  await owner.getByText("Chosen transferred to Globex").waitFor();
  await expect.poll(() => owner.getByRole("link", { name: "Globex" }).count()).toBe(1);
});

test("a vault with protected paths says how to transfer it, and one that changed is not transferred", async () => {
  const vault = await createSharedVault(keep, { organisation: acme, owner, name: "Guarded" });
  const path = `/api/secrets/vaults/${vault}`;
  await keep.request(owner, path, { method: "PATCH", body: { protected_paths: ["/prod/**"] } });
  const guarded = await openTransfer(owner, vault, "Guarded");
  await guarded.getByText("Remove them in the vault settings, which another person has to approve").waitFor();
  expect(await guarded.getByRole("button", { name: "Transfer vault" }).count()).toBe(0);
  const changing = await createSharedVault(keep, { organisation: acme, owner, name: "Changing" });
  await openTransfer(owner, changing, "Changing");
  await owner.getByLabel("Transfer to").selectOption("Globex");
  await keep.request(owner, `/api/secrets/vaults/${changing}`, {
    method: "PATCH",
    body: { most_versions: 7 },
  });
  await confirm(owner, "Changing");
  await owner.getByText("The vault changed in the meantime. Nothing was transferred.").waitFor();
});

test("a transfer after a long lunch asks to sign in again, and an organisation that is gone is explained", async () => {
  const lost = await createOrganisation(keep, owner, "Lost");
  const vault = await createVault(keep, owner, "Lunch");
  await openTransfer(owner, vault, "Lunch");
  await owner.getByLabel("Transfer to").selectOption("Lost");
  keep.setSignInTime("now() - interval '1 hour'");
  await confirm(owner, "Lunch");
  await owner.getByText("Sign in again to transfer vaults").waitFor();
  expect(await owner.getByRole("button", { name: "Transfer vault", exact: true }).isDisabled()).toBe(true);
  keep.setSignInTime("now()");
  await openTransfer(owner, vault, "Lunch");
  await owner.getByLabel("Transfer to").selectOption("Lost");
  const body = { confirm: "Lost" };
  await keep.request(owner, `/api/organisations/${lost}`, { method: "DELETE", body });
  await confirm(owner, "Lunch");
  await owner.getByText("You are not an owner of this organisation any more").waitFor();
});
