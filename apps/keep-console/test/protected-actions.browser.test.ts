import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { chooseMenuItem, writeSecret } from "./every-screen/screen-fixture.ts";
import {
  addMember,
  createOrganisation,
  createSharedVault,
  memberAccount,
  shareVault,
} from "./team-fixture.ts";

let keep: ConsoleFixture;
let owner: Page;
let member: Page;
let vault: string;

beforeAll(async () => {
  keep = await startConsoleFixture();
  owner = await keep.signIn();
  member = await keep.signIn(memberAccount);
  for (const page of [owner, member]) page.setDefaultTimeout(20_000);
  const acme = await createOrganisation(keep, owner, "Acme");
  const id = await addMember(keep, { organisation: acme, owner, person: member });
  const secrets = {
    "prod/KEY": "first",
    "staging/KEY": "tested",
    "staging/NEW": "fresh",
    "staging/SKIP": "x",
  };
  vault = await createSharedVault(keep, { organisation: acme, owner, name: "Shop", secrets });
  await writeSecret({ keep, page: owner, vault }, "prod/KEY", { value: "second" });
  await writeSecret({ keep, page: owner, vault }, "prod/GONE", { value: "gone" });
  const gone = `/api/secrets/vaults/${vault}/secrets/by-path/prod/GONE`;
  await keep.request(owner, gone, { method: "DELETE" });
  await shareVault(keep, { vault, owner, holder: { type: "person", id }, role: "manager" });
  const body = { environments: ["staging", "prod"], protected_paths: ["/prod/**"] };
  await keep.request(owner, `/api/secrets/vaults/${vault}`, { method: "PATCH", body });
});

afterAll(() => keep?.[Symbol.asyncDispose]());

async function readValue(path: string): Promise<string | undefined> {
  return keep.request<{ value: string }>(owner, `/api/secrets/vaults/${vault}/values/by-path/${path}`).then(
    ({ value }) => value,
    () => undefined,
  );
}

/** Proposes what the form on the page shows; another person approves it. */
async function proposeAndApprove(): Promise<readonly string[]> {
  const form = owner.getByRole("form", { name: "Propose change" });
  await form.getByLabel("Reason").fill("Release of May");
  const lines = await form.getByRole("list", { name: "Change" }).getByRole("listitem").allTextContents();
  await form.getByRole("button", { name: "Propose change" }).click();
  await owner.getByRole("link", { name: "View change" }).click();
  await owner.getByRole("dialog", { name: "Proposed change" }).waitFor();
  await member.goto(owner.url());
  await member.getByRole("button", { name: "Approve" }).click();
  await member.getByText("Change approved").first().waitFor();
  return lines;
}

async function openHistory(): Promise<void> {
  await owner.goto(`${keep.url}/secrets/${vault}?folder=/prod`);
  await owner.getByRole("link", { name: "KEY", exact: true }).click();
}

test("an earlier version of a protected secret is proposed, and is current once another person approves", async () => {
  await openHistory();
  await chooseMenuItem(owner, "More actions for version 1", "Restore");
  expect(await proposeAndApprove()).toEqual(["Write a new value of /prod/KEY"]);
  expect(await readValue("prod/KEY")).toBe("first");
});

test("a promotion to a protected environment is proposed with the chosen secrets and their values", async () => {
  await owner.goto(`${keep.url}/secrets/${vault}/environments`);
  await owner.getByRole("button", { name: "Compare", exact: true }).click();
  await owner.getByRole("button", { name: /^Promote/u }).click();
  const dialog = owner.getByRole("dialog", { name: "Promote staging to prod" });
  await dialog.getByRole("checkbox", { name: "/prod/SKIP" }).uncheck();
  await dialog.getByRole("button", { name: "Promote 2 secrets" }).click();
  expect(await proposeAndApprove()).toEqual(["Create /prod/NEW", "Write a new value of /prod/KEY"]);
  expect(await Promise.all(["prod/KEY", "prod/NEW", "prod/SKIP"].map(readValue))).toEqual([
    "tested",
    "fresh",
    undefined,
  ]);
});

test("an import of a protected secret says what to do instead, and imports what is not protected", async () => {
  const importInto = async (folder: string): Promise<void> => {
    await owner.goto(`${keep.url}/secrets/${vault}?folder=${folder}`);
    await chooseMenuItem(owner, "More vault actions", "Import…");
    await owner.getByLabel("Content").fill("IMPORTED=1");
    await owner.getByRole("button", { name: "Preview" }).click();
    await owner.getByRole("button", { name: "Import 1 secret" }).click();
  };
  await importInto("/prod");
  await owner.getByText("Save those one by one, which offers to propose each change").waitFor();
  expect(await readValue("prod/IMPORTED")).toBeUndefined();
  await importInto("/staging");
  await owner.getByText("Imported: 1 new, 0 updated").waitFor();
  expect(await readValue("staging/IMPORTED")).toBe("1");
});

test("what cannot be proposed says so: restoring a deleted secret, and destroying a version", async () => {
  await owner.goto(`${keep.url}/secrets/${vault}?state=deleted`);
  await chooseMenuItem(owner, "More actions for GONE", "Restore");
  await owner.getByText("Create it again with New secret, and propose that").waitFor();
  await openHistory();
  await chooseMenuItem(owner, "More actions for version 1", "Destroy…");
  await owner.getByRole("button", { name: "Destroy", exact: true }).click();
  await owner.getByText("so its versions cannot be destroyed").waitFor();
  expect(await owner.getByText("/api/secrets").count()).toBe(0);
});
