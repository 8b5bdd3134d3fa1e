import { recordFigure } from "@hearth-and-keep/figures";
import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { addMember, memberAccount } from "./team-fixture.ts";

let keep: ConsoleFixture;
let page: Page;
let keys: KeyboardWalk;
const flows: string[] = [];

beforeAll(async () => {
  keep = await startConsoleFixture();
  page = await keep.signIn();
  page.setDefaultTimeout(20_000);
  keys = new KeyboardWalk(page, { origin: keep.url });
});

afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "teams 9",
      text: `by keyboard alone: ${flows.join(", ")}; the focus was visible at each of ${keys.stops} stops`,
      counted: { reached: flows.length, needed: 8 },
    });
});

const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
const link = (name: string): Locator => page.getByRole("link", { name, exact: true });

async function type(target: Locator, text: string): Promise<void> {
  await keys.tabTo(target);
  await page.keyboard.type(text);
}

/** Opens a menu with Enter and moves to the item by its first letters. */
async function chooseByKeyboard(menu: string, item: string): Promise<void> {
  await keys.press(button(menu));
  const target = page.getByRole("menuitem", { name: item });
  await target.waitFor();
  await expect
    .poll(async () => {
      await page.keyboard.press("ArrowDown");
      return target.evaluate((element) => element === document.activeElement);
    })
    .toBe(true);
  await page.keyboard.press("Enter");
}

async function expectFocus(): Promise<void> {
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).not.toBe("BODY");
}

test("create an organisation", async () => {
  await page.goto(`${keep.url}/secrets`);
  await page.getByText("No secrets yet").waitFor();
  await keys.press(
    page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Organisations" }),
  );
  await keys.press(button("New organisation"));
  await type(page.getByLabel("Name", { exact: true }), "Acme");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(new URL(page.url()).pathname).toMatch(/^\/organisations\/[0-9a-f-]{36}$/u);
  flows.push("create an organisation");
});

test("invite an auditor", async () => {
  await keys.press(button("Invite"));
  await keys.tabTo(page.getByRole("radio", { name: "Member" }));
  await page.keyboard.press("ArrowDown");
  expect(await page.getByRole("radio", { name: "Auditor" }).isChecked()).toBe(true);
  await keys.press(button("Create invitation"));
  await page.getByRole("dialog", { name: "Copy the invitation link now" }).waitFor();
  await page.keyboard.press("Escape");
  expect(await page.getByRole("dialog").count()).toBe(1);
  await keys.press(button("Done"));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expectFocus();
  flows.push("invite an auditor");
});

test("create a team and add a member", async () => {
  const member = await keep.signIn(memberAccount);
  const organisation = new URL(page.url()).pathname.split("/")[2] ?? "";
  await addMember(keep, { organisation, owner: page, person: member });
  await member.context().close();
  await keys.press(link("Teams"));
  await keys.press(button("New team"));
  await type(page.getByLabel("Name", { exact: true }), "Backend");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Backend" }).waitFor();
  await keys.tabTo(page.getByLabel("Add a member"));
  await page.keyboard.type("fourth");
  await keys.press(button("Add"));
  await button("Remove fourth@example.com from the team").waitFor();
  await expectFocus();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(() => page.getByRole("list", { name: "Teams" }).textContent()).toContain("1 member");
  flows.push("create a team and add a member");
});

test("create a vault and share it with the team", async () => {
  await keys.press(link("Vaults"));
  await keys.press(button("New vault"));
  await type(page.getByLabel("Name", { exact: true }), "Payments");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Access to Payments" }).waitFor();
  await keys.press(button("Share"));
  await keys.tabTo(page.getByLabel("Share with"));
  await page.keyboard.type("Back");
  const dialog = page.getByRole("dialog", { name: "Share Payments" });
  await keys.press(dialog.getByRole("button", { name: "Share", exact: true }));
  await dialog.waitFor({ state: "detached" });
  await page.getByText("Payments shared").waitFor();
  await expectFocus();
  expect(new URL(page.url()).search).toBe("?open=access");
  flows.push("share a vault");
});

test("ask who can read a path, and remove the access", async () => {
  await type(page.getByLabel("Path of a secret"), "/prod/KEY");
  await page.keyboard.press("Enter");
  await page.getByRole("list", { name: "Readers" }).getByText("Backend").waitFor();
  await keys.press(button("Remove the access of Backend as reader"));
  await keys.press(button("Remove access"));
  await page.getByText("Access of Backend removed").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(new URL(page.url()).search).toBe("");
  flows.push("ask who can read, remove access");
});

test("switch between vaults", async () => {
  await chooseByKeyboard("Vault Payments", "Personal");
  await button("Vault Personal").waitFor();
  await chooseByKeyboard("Vault Personal", "Payments");
  await button("Vault Payments").waitFor();
  expect(await page.getByRole("menu").count()).toBe(0);
  flows.push("switch vaults");
});

test("change a role and remove the member", async () => {
  await keys.press(link("Acme"));
  await keys.press(link("Members"));
  await chooseByKeyboard("More actions for fourth@example.com", "Change role…");
  await keys.tabTo(page.getByRole("radio", { name: "Member" }));
  await page.keyboard.press("ArrowDown");
  await keys.press(button("Change role"));
  await page.getByText("fourth@example.com is now an auditor").waitFor();
  await expectFocus();
  await chooseByKeyboard("More actions for fourth@example.com", "Remove…");
  await keys.press(button("Remove"));
  await page.getByRole("dialog", { name: "fourth@example.com was removed" }).waitFor();
  await keys.press(page.getByRole("dialog").getByRole("button", { name: "Close" }));
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const members = page.getByRole("list", { name: "Members" }).getByRole("listitem");
  await expect.poll(() => members.count()).toBe(1);
  flows.push("change a role, remove a member");
});

test("name environments, compare and promote", async () => {
  const vault = await keep.request<{ id: string }>(page, "/api/secrets/vaults", {
    method: "POST",
    body: { name: "Checkout" },
  });
  for (const path of ["dev/KEY", "prod/OTHER"])
    await keep.request(page, `/api/secrets/vaults/${vault.id}/secrets/by-path/${path}`, {
      method: "PUT",
      body: { value: "x" },
    });
  await page.goto(`${keep.url}/secrets/${vault.id}/environments`);
  await keys.press(button("Vault settings"));
  await type(page.getByLabel("Environments", { exact: true }), "dev, prod");
  await keys.press(button("Save"));
  await page.getByRole("rowheader", { name: "KEY" }).waitFor();
  await keys.press(button("Compare"));
  await keys.press(button("Promote dev to prod…"));
  await keys.press(button("Promote 1 secret"));
  await page.getByText("Promoted 1 secret to prod").waitFor();
  await expectFocus();
  await expect.poll(() => page.getByText("Missing", { exact: true }).count()).toBe(1);
  flows.push("compare and promote");
});

test("create a trust rule and delete it", async () => {
  await keys.press(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Trust rules" }));
  await keys.press(link("New trust rule"));
  await type(page.getByLabel("Name", { exact: true }), "Deploy");
  await type(page.getByLabel("Values 1"), "74");
  await type(page.getByLabel("Values 2"), "65");
  await type(page.getByLabel("Values 3"), "production");
  await keys.press(button("Create trust rule"));
  await button("More actions for Deploy").waitFor();
  await chooseByKeyboard("More actions for Deploy", "Delete…");
  await keys.press(button("Delete rule"));
  await page.getByText("No trust rules yet").waitFor();
  expect(await page.getByRole("list", { name: "Trust rules" }).count()).toBe(0);
  flows.push("create and delete a trust rule");
});
