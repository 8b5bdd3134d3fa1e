import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { becomeOperator, createOrganisation, memberAccount, operatorAccount } from "./team-fixture.ts";

let keep: ConsoleFixture;
let operator: Page;
let person: Page;
const flows: string[] = [];

beforeAll(async () => {
  keep = await startConsoleFixture();
  operator = await keep.signIn(operatorAccount);
  person = await keep.signIn(memberAccount);
  for (const page of [operator, person]) page.setDefaultTimeout(20_000);
  await becomeOperator(keep, operator);
});

afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "teams 9",
      text: `accounts for operators: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 7 },
    });
});

async function openAccounts(page: Page, query = ""): Promise<void> {
  await page.goto(`${keep.url}/accounts${query}`);
  await page.getByRole("heading", { name: "Accounts", level: 1 }).waitFor();
}

const rows = (page: Page) => page.getByRole("list", { name: "Accounts" }).getByRole("listitem");

test("somebody who is no operator reads that, and finds no such item in the navigation", async () => {
  await openAccounts(person);
  await person.getByText("Only operators of this Keep can see accounts").waitFor();
  const navigation = person.getByRole("navigation", { name: "Main" });
  expect(await navigation.getByRole("link", { name: "Accounts" }).count()).toBe(0);
  flows.push("refused without being an operator");
});

test("an operator sees people and organisations, and how one signs in", async () => {
  await createOrganisation(keep, person, "Acme");
  await openAccounts(operator);
  await operator.getByRole("link", { name: "Acme" }).waitFor();
  const texts = await rows(operator).allTextContents();
  expect(texts.map((text) => text.replace(/Created.*/u, ""))).toEqual([
    "third@example.comActiveOperatorPerson",
    "fourth@example.comActivePerson",
    "AcmeActiveOrganisation",
  ]);
  flows.push("list accounts");
  await operator.getByRole("link", { name: "fourth@example.com" }).click();
  const panel = operator.getByRole("dialog", { name: "fourth@example.com" });
  await panel.getByText("general:103").waitFor();
  await operator.keyboard.press("Escape");
  await operator.getByRole("link", { name: "third@example.com" }).click();
  await operator.getByText("This is your own account").waitFor();
  expect(await operator.getByRole("button", { name: "Suspend…" }).count()).toBe(0);
  flows.push("see one account");
});

test("a suspended person is signed out at once, and can sign in again after it was resumed", async () => {
  await openAccounts(operator);
  await operator.getByRole("link", { name: "fourth@example.com" }).click();
  await operator.getByRole("button", { name: "Suspend…" }).click();
  await operator.getByText("The person is signed out everywhere").waitFor();
  await operator.getByRole("button", { name: "Suspend", exact: true }).click();
  await operator.getByText("fourth@example.com suspended").waitFor();
  await operator.getByRole("button", { name: "Resume…" }).waitFor();
  await person.goto(`${keep.url}/secrets`);
  await person.waitForURL(/\/sign-in\?return_to=/u);
  flows.push("suspend");
  await openAccounts(operator, "?status=suspended");
  await expect.poll(() => rows(operator).count()).toBe(1);
  flows.push("filter by status");
  await operator.getByRole("link", { name: "fourth@example.com" }).click();
  await operator.getByRole("button", { name: "Resume…" }).click();
  await operator.getByRole("button", { name: "Resume", exact: true }).click();
  await operator.getByText("fourth@example.com resumed").waitFor();
  await operator.keyboard.press("Escape");
  await operator.getByText("No account has this status").waitFor();
  const again = await keep.signIn(memberAccount);
  await again.goto(`${keep.url}/account`);
  await again.getByRole("heading", { name: "Active sessions" }).waitFor();
  await again.context().close();
  flows.push("resume");
});

test("a suspension after a long lunch asks to sign in again", async () => {
  await openAccounts(operator);
  await operator.getByRole("link", { name: "Acme" }).click();
  await operator.getByRole("button", { name: "Suspend…" }).click();
  await operator.getByText("It opens for none of its members").waitFor();
  keep.setSignInTime("now() - interval '1 hour'");
  await operator.getByRole("button", { name: "Suspend", exact: true }).click();
  await operator.getByText("Sign in again to change accounts").waitFor();
  keep.setSignInTime("now()");
  const suspended = await keep.request<{ items: object[] }>(
    operator,
    "/api/operator/accounts?status=suspended",
  );
  expect(suspended.items).toEqual([]);
  flows.push("sign in again");
});

test("on a phone the list and one account fit", async () => {
  await operator.setViewportSize({ width: 390, height: 844 });
  await openAccounts(operator);
  await operator.getByRole("link", { name: "Acme" }).waitFor();
  expect(await operator.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await operator.getByRole("link", { name: "Acme" }).click();
  await operator.getByText("No one signs in to an organisation").waitFor();
  flows.push("on a phone");
});
