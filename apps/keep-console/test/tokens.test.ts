import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopeGroups } from "../src/screens/tokens/scopes.ts";
import { type ConsoleStage, startConsoleStage } from "./console-fixture.ts";

let stage: ConsoleStage;
let page: Page;
const flows: string[] = [];
/** A busy machine takes its time. */
const patience = { timeout: 20_000 };

beforeAll(async () => {
  stage = await startConsoleStage();
  page = await stage.signIn();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: stage.url });
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "console 1",
      text: `tokens: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 8 },
    });
});

const tokenPattern = /sk-svc-[0-9A-Za-z]{49}/u;

async function openTokens(): Promise<void> {
  await page.goto(`${stage.url}/secrets/tokens`);
  await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
}

async function openForm(name: string): Promise<void> {
  await openTokens();
  await page.getByRole("link", { name: "New token" }).click();
  await page.getByLabel("Name", { exact: true }).fill(name);
}

async function makeToken(name: string): Promise<string> {
  await openForm(name);
  await page.getByRole("button", { name: "Make token" }).click();
  return takeValue();
}

/** What the dialog shows once; the dialog is closed afterwards. */
async function takeValue(): Promise<string> {
  const dialog = page.getByRole("dialog", { name: "Copy your token now" });
  const text = await dialog.textContent();
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await dialog.waitFor({ state: "detached" });
  return tokenPattern.exec(text ?? "")?.[0] ?? "";
}

async function choose(name: string, action: "Rename" | "Rotate" | "Revoke"): Promise<void> {
  await page.getByRole("button", { name: `More for ${name}` }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

async function statusWith(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${stage.url}/api/secrets/vaults`, { headers })).status;
}

/** Everywhere that a page could keep something. */
function everythingKept(): Promise<string> {
  return page.evaluate(() =>
    [
      document.documentElement.outerHTML,
      JSON.stringify(Object.entries(localStorage)),
      JSON.stringify(Object.entries(sessionStorage)),
      location.href,
      document.cookie,
    ].join("\n"),
  );
}

test("who has no tokens is told what they are for, and who cannot be answered is told to try again", async () => {
  await openTokens();
  await page.getByText("No tokens yet").waitFor();
  await page.route("**/api/secrets/tokens?limit=200", (route) => route.abort());
  await page.reload();
  await page.getByText("Keep cannot be reached").waitFor();
  await page.unroute("**/api/secrets/tokens?limit=200");
  expect(await page.getByText("No tokens yet").count()).toBe(0);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("No tokens yet").waitFor();
  flows.push("empty and failed");
});

test("a token is made with limits, its value is shown once, its curl line works, and then it is nowhere", async () => {
  await openForm("web shop, production");
  expect(await page.getByRole("checkbox", { name: "Read secrets" }).isChecked()).toBe(true);
  const included = page.getByRole("checkbox", { name: "List secrets included" });
  expect([await included.isChecked(), await included.isDisabled()]).toEqual([true, true]);
  expect(await page.getByRole("checkbox", { name: "Write secrets" }).isChecked()).toBe(false);
  expect(await page.getByLabel("It expires").inputValue()).toBe("90");
  await page.getByLabel("Vaults", { exact: true }).selectOption("some");
  await page.getByRole("checkbox", { name: "Personal" }).check();
  await page.getByLabel("Paths", { exact: true }).fill("/prod/**");
  await page.getByText("/prod/**: everything in /prod").waitFor();
  await page.getByLabel("Addresses").fill("127.0.0.1\n::1");
  await page.getByRole("button", { name: "Make token" }).click();
  const dialog = page.getByRole("dialog", { name: "Copy your token now" });
  await dialog.getByText("cannot show it again").waitFor();
  await page.mouse.click(5, 5);
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Copy the token" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  await dialog.getByRole("button", { name: "Copy the curl line" }).click();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  expect(line).toBe(`curl -H "Authorization: Bearer ${copied}" ${stage.url}/api/secrets/vaults`);
  const answer: unknown = JSON.parse(execFileSync("sh", ["-c", `${line} --silent`], { encoding: "utf8" }));
  expect(answer).toMatchObject([{ name: "Personal", is_encrypted: true }]);
  const value = await takeValue();
  expect(value).toBe(copied);
  expect(await everythingKept()).not.toContain(value);
  const row = page.getByRole("listitem").filter({ hasText: "web shop, production" });
  for (const text of ["Read secrets", "Personal", "/prod/**", "127.0.0.1", "Not used yet"])
    expect(await row.textContent()).toContain(text);
  flows.push("make with limits and run the curl line");
});

test("a token is made by keyboard alone", async () => {
  await openTokens();
  await page.getByRole("link", { name: "New token" }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Name", { exact: true }).waitFor();
  await page.keyboard.type("made by keyboard");
  // From the name to the first scope, and on to one that is not chosen yet.
  await page.keyboard.press("Tab");
  expect(await page.getByRole("checkbox", { name: "Read secrets" }).evaluate(isFocused)).toBe(true);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  expect(await page.getByRole("checkbox", { name: "See tokens" }).isChecked()).toBe(true);
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Copy your token now" });
  await dialog.waitFor();
  const done = dialog.getByRole("button", { name: "I have stored it" });
  for (let presses = 0; presses < 6 && !(await done.evaluate(isFocused)); presses += 1)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const heading = page.getByRole("heading", { name: "Tokens", level: 1 });
  await expect.poll(() => heading.evaluate(isFocused), patience).toBe(true);
  await page.getByText("made by keyboard").waitFor();
  flows.push("make by keyboard");
});

test("what is wrong in the form is said in place, and nothing is sent", async () => {
  await openForm(" ");
  await page.getByRole("checkbox", { name: "Read secrets" }).uncheck();
  await page.getByLabel("Paths", { exact: true }).fill("prod/**");
  await page.getByText('"prod/**" must begin with /').waitFor();
  await page.getByLabel("Addresses").fill("10.0.0.0/40");
  await page.getByText('"10.0.0.0/40" is no address').waitFor();
  await page.getByLabel("It expires").selectOption("never");
  await page.getByText("It works until somebody revokes it").waitFor();
  await page.getByRole("button", { name: "Make token" }).click();
  await page.getByText("Give it a name that says what uses it").waitFor();
  await page.getByText("Choose at least one thing that it may do").waitFor();
  expect(await page.getByLabel("Name", { exact: true }).evaluate(isFocused)).toBe(true);
  expect(await page.getByRole("dialog").count()).toBe(0);
  flows.push("mistakes in place");
});

test("a token is renamed and rotated, and the old value holds as long as was chosen", async () => {
  const first = await makeToken("nightly backup");
  await choose("nightly backup", "Rename");
  await page.getByRole("dialog").getByLabel("Name").fill("hourly backup");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByText("hourly backup").waitFor();
  await choose("hourly backup", "Rotate");
  await page.getByRole("button", { name: "Rotate" }).click();
  await page.getByText("The old value works for one more hour").waitFor();
  const second = await takeValue();
  expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200]);
  await choose("hourly backup", "Rotate");
  await page.getByLabel("The old value goes on working").selectOption("0");
  await page.getByRole("button", { name: "Rotate" }).click();
  const third = await takeValue();
  await expect.poll(() => statusWith(second), patience).toBe(401);
  expect(await statusWith(third)).toBe(200);
  expect(await everythingKept()).not.toMatch(tokenPattern);
  flows.push("rename and rotate");
});

test("a revoked token is confirmed everywhere, works no more, and is folded away", async () => {
  const value = await makeToken("old laptop");
  expect(await statusWith(value)).toBe(200);
  await choose("old laptop", "Revoke");
  await page.getByText("This cannot be undone").waitFor();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("Revoked everywhere").waitFor();
  expect(await statusWith(value)).toBe(401);
  await page.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.locator("#main").evaluate(isFocused), patience).toBe(true);
  expect(await page.getByText("old laptop").isVisible()).toBe(false);
  await page.getByText("Revoked tokens").click();
  await page.getByText("old laptop").waitFor();
  flows.push("revoke everywhere");
});

test("while a server is behind the page does not say that a token is revoked everywhere", async () => {
  const value = await makeToken("behind");
  stage.runSql(
    "INSERT INTO node (id, heartbeat_at, forgotten_until) VALUES (gen_random_uuid(), now() + interval '1 hour', 'epoch')",
  );
  await choose("behind", "Revoke");
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("Revoked, but not yet confirmed by every server").waitFor();
  expect(await page.getByText("Revoked everywhere").count()).toBe(0);
  expect(await statusWith(value)).toBe(401);
  stage.runSql("DELETE FROM node WHERE forgotten_until = 'epoch'");
  await page.getByRole("button", { name: "Check again" }).click();
  await page.getByText("Revoked everywhere").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  flows.push("revocation not proven");
});

test("who signed in long ago signs in again and finds the form as it was", async () => {
  await openForm("after a long lunch");
  await page.getByRole("checkbox", { name: "Write secrets" }).check();
  await page.getByLabel("Paths", { exact: true }).fill("/staging/*");
  stage.runSql("UPDATE session SET authenticated_at = now() - interval '1 hour'");
  await page.getByRole("button", { name: "Make token" }).click();
  await page.getByRole("button", { name: "Sign in again with Example" }).click();
  // The provider knows already that Keep is allowed, and asks only who it is.
  await page.getByLabel("Account").fill("first@example.com");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${stage.url}/secrets/tokens?new=token`);
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("after a long lunch");
  expect(await page.getByRole("checkbox", { name: "Write secrets" }).isChecked()).toBe(true);
  expect(await page.getByLabel("Paths", { exact: true }).inputValue()).toBe("/staging/*");
  await page.getByRole("button", { name: "Make token" }).click();
  expect(await takeValue()).toMatch(tokenPattern);
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  flows.push("sign in again");
});

test("the console says the same of every scope as the server: none is missing, and none brings along more", () => {
  const source = readFileSync(new URL("../../keep/src/authorization/scopes.ts", import.meta.url), "utf8");
  const rows = [...source.matchAll(/^ {2}"(?<scope>[a-z]+:[a-z]+)": \[(?<brings>[^\]]*)\]/gmu)];
  const ofServer = rows.map(({ groups = {} }) => [
    groups["scope"],
    [...(groups["brings"] ?? "").matchAll(/[a-z]+:[a-z]+/gu)].map(String),
  ]);
  const ofConsole = scopeGroups.flatMap(({ scopes }) => scopes).map(({ scope, brings }) => [scope, brings]);
  expect(ofServer.length).toBe(12);
  expect(Object.fromEntries(ofConsole)).toEqual(Object.fromEntries(ofServer));
});

function isFocused(element: Element): boolean {
  return element === document.activeElement;
}
