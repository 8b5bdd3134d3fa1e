import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { chooseMenuItem } from "./every-screen/screen-fixture.ts";
import { addMember, createOrganisation, createSharedVault, memberAccount } from "./team-fixture.ts";
import { createWorkload } from "./workload-fixture.ts";

let keep: ConsoleFixture;
let owner: Page;
let acme: string;
let vault: string;

beforeAll(async () => {
  keep = await startConsoleFixture();
  owner = await keep.signIn();
  owner.setDefaultTimeout(20_000);
  await owner.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: keep.url });
  acme = await createOrganisation(keep, owner, "Acme");
  vault = await createSharedVault(keep, { organisation: acme, owner, name: "Shop", secrets: { KEY: "one" } });
});

afterAll(() => keep?.[Symbol.asyncDispose]());

async function openRules(page: Page, search = ""): Promise<void> {
  await page.goto(`${keep.url}/organisations/${acme}/trust-rules${search}`);
  await page.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
}

const list = () => owner.getByRole("list", { name: "Trust rules" });

test("an owner copies the audience of the organisation, also before there is a rule", async () => {
  await owner.goto(`${keep.url}/organisations/${acme}`);
  const sections = owner.getByRole("navigation", { name: "Sections of Acme" });
  await sections.getByRole("link", { name: "Trust rules" }).click();
  await owner.getByText("No trust rules yet").waitFor();
  await owner.getByRole("button", { name: "Copy: Audience to request tokens for" }).click();
  const audience = `${keep.url}/organisations/${acme}`;
  await expect.poll(() => owner.evaluate(() => navigator.clipboard.readText())).toBe(audience);
});

test("a rule of an organisation names vaults, and its tokens are the organisation's", async () => {
  const workload = createWorkload(keep);
  await owner.getByRole("link", { name: "New trust rule" }).click();
  await owner.getByLabel("Name", { exact: true }).fill("Workers");
  await owner.getByLabel("Provider").selectOption("Another issuer");
  await owner.getByLabel("Issuer", { exact: true }).fill(workload.issuer);
  await owner.getByLabel("Keys of the issuer (optional)").fill(JSON.stringify(workload.jwks));
  await owner.getByLabel("Values 1").fill("worker-7");
  const options = owner.getByLabel("Vaults", { exact: true }).getByRole("option");
  expect(await options.allTextContents()).toEqual(["Selected vaults"]);
  await owner.getByRole("button", { name: "Create trust rule" }).click();
  await owner.getByText("Select at least one vault").waitFor();
  await owner.getByRole("checkbox", { name: "Shop" }).check();
  await owner.getByRole("button", { name: "Create trust rule" }).click();
  await owner.getByText("Trust rule created").waitFor();
  await list().getByText("Shop").waitFor();
  const token = workload.sign("worker-7", `${keep.url}/organisations/${acme}`);
  // The type of a successful exchange.
  const issued = (await (await workload.present(token)).json()) as { access_token: string };
  const read = await fetch(`${keep.url}/api/secrets/vaults/${vault}/values/by-path/KEY`, {
    headers: { authorization: `Bearer ${issued.access_token}` },
  });
  expect(await read.json()).toMatchObject({ value: "one" });
  await chooseMenuItem(owner, "More actions for Workers", "Recent tokens…");
  await owner.getByRole("dialog").getByText("exchanged").waitFor();
  await owner.keyboard.press("Escape");
});

test("a rule is edited after signing in again, and returns to the rules of the organisation", async () => {
  await openRules(owner);
  await chooseMenuItem(owner, "More actions for Workers", "Edit");
  await owner.getByLabel("Tokens are valid for").selectOption("1 hour");
  keep.setSignInTime("now() - interval '1 hour'");
  await owner.getByRole("button", { name: "Save" }).click();
  await owner.getByRole("button", { name: "Sign in again with Example" }).click();
  await owner.getByRole("textbox", { name: "Account" }).fill("first@example.com");
  await owner.getByRole("button", { name: "Sign in" }).click();
  await expect.poll(() => owner.getByLabel("Tokens are valid for").inputValue()).toBe("3600");
  await owner.getByRole("button", { name: "Save" }).click();
  await owner.getByText("Trust rule saved").waitFor();
  await list().getByText("For 60 minutes").waitFor();
  expect(new URL(owner.url()).pathname).toBe(`/organisations/${acme}/trust-rules`);
});

test("an owner cannot change a rule for a vault that they do not manage any more, and can delete it", async () => {
  const path = `/api/secrets/vaults/${vault}/grants`;
  const { items } = await keep.request<{ items: readonly { id: string }[] }>(owner, path);
  for (const { id } of items) await keep.request(owner, `${path}/${id}`, { method: "DELETE" });
  await openRules(owner);
  await chooseMenuItem(owner, "More actions for Workers", "Edit");
  await owner.getByLabel("Tokens are valid for").selectOption("5 minutes");
  await owner.getByRole("button", { name: "Save" }).click();
  await owner.getByText("This rule would grant more than you have").waitFor();
  await owner.getByRole("link", { name: "Cancel" }).click();
  await chooseMenuItem(owner, "More actions for Workers", "Delete…");
  await owner.getByRole("button", { name: "Delete rule" }).click();
  await owner.getByText("No trust rules yet").waitFor();
  expect(await keep.request(owner, `/api/organisations/${acme}/trust-rules`)).toMatchObject({ items: [] });
});

test("a member sees no trust rules, nor a tab for them", async () => {
  const member = await keep.signIn(memberAccount);
  member.setDefaultTimeout(20_000);
  await addMember(keep, { organisation: acme, owner, person: member });
  await openRules(member);
  await member.getByText("Only owners manage the trust rules of this organisation").waitFor();
  const tabs = member.getByRole("navigation", { name: "Sections of Acme" }).getByRole("link");
  expect(await tabs.allTextContents()).not.toContain("Trust rules");
});

test("on a phone a rule of an organisation is created without scrolling sideways", async () => {
  const phone = await keep.signIn(undefined, { viewport: { width: 390, height: 844 } });
  phone.setDefaultTimeout(20_000);
  await createSharedVault(keep, { organisation: acme, owner, name: "Pocket" });
  await openRules(phone, "?new=rule");
  await phone.getByLabel("Name", { exact: true }).fill("Pods");
  await phone.getByLabel("Provider").selectOption("Kubernetes");
  await phone.getByLabel("Issuer", { exact: true }).fill("https://pocket.example");
  await phone.getByLabel("Values 1").fill("system:serviceaccount:pocket:worker");
  await phone.getByRole("checkbox", { name: "Pocket" }).check();
  await phone.getByRole("button", { name: "Create trust rule" }).click();
  await phone.getByText("Trust rule created").waitFor();
  expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});
