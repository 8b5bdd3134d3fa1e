import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopeGroups } from "../src/screens/tokens/scopes.ts";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";

let fixture: ConsoleFixture;
let page: Page;
const flows: string[] = [];
/** Generous, for slow machines. */
const longTimeout = { timeout: 20_000 };

beforeAll(async () => {
  fixture = await startConsoleFixture();
  page = await fixture.signIn();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: fixture.url });
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "console 1",
      text: `tokens: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 8 },
    });
});

const tokenPattern = /sk-svc-[0-9A-Za-z]{49}/u;

async function openTokens(): Promise<void> {
  await page.goto(`${fixture.url}/secrets/tokens`);
  await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
}

async function openForm(name: string): Promise<void> {
  await openTokens();
  await page.getByRole("link", { name: "New token" }).click();
  await page.getByLabel("Name", { exact: true }).fill(name);
}

async function createToken(name: string): Promise<string> {
  await openForm(name);
  await page.getByRole("button", { name: "Create token" }).click();
  return readValueOnce();
}

/** Reads the value from the dialog and closes it. */
async function readValueOnce(): Promise<string> {
  const dialog = page.getByRole("dialog", { name: "Copy your token now" });
  const text = await dialog.textContent();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  return tokenPattern.exec(text ?? "")?.[0] ?? "";
}

async function choose(name: string, action: "Rename" | "Rotate" | "Revoke"): Promise<void> {
  await page.getByRole("button", { name: `More actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

async function statusWith(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${fixture.url}/api/secrets/vaults`, { headers })).status;
}

/** Everything the page could have stored the token in. */
function storedContent(): Promise<string> {
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

test("the empty list explains tokens, and an unreachable server offers Try again", async () => {
  await openTokens();
  await page.getByText("No tokens yet").waitFor();
  await page.route("**/api/secrets/tokens?limit=200", (route) => route.abort());
  await page.reload();
  await page.getByText("Cannot reach Keep").waitFor();
  await page.unroute("**/api/secrets/tokens?limit=200");
  expect(await page.getByText("No tokens yet").count()).toBe(0);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("No tokens yet").waitFor();
  flows.push("empty and failed");
});

test("a token with restrictions is shown once, its curl command works, and its value is stored nowhere", async () => {
  await openForm("web shop, production");
  expect(await page.getByRole("checkbox", { name: "Read secrets" }).isChecked()).toBe(true);
  const included = page.getByRole("checkbox", { name: "List secrets Included" });
  expect([await included.isChecked(), await included.isDisabled()]).toEqual([true, true]);
  expect(await page.getByRole("checkbox", { name: "Write secrets" }).isChecked()).toBe(false);
  expect(await page.getByLabel("Expires after").inputValue()).toBe("90");
  await page.getByLabel("Vaults", { exact: true }).selectOption("some");
  await page.getByRole("checkbox", { name: "Personal" }).check();
  await page.getByLabel("Paths", { exact: true }).fill("/prod/**");
  await page.getByText("/prod/**: everything in /prod").waitFor();
  await page.getByLabel("IP addresses").fill("127.0.0.1\n::1");
  await page.getByRole("button", { name: "Create token" }).click();
  const dialog = page.getByRole("dialog", { name: "Copy your token now" });
  await dialog.getByText("only time the token is shown").waitFor();
  await page.mouse.click(5, 5);
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Copy token" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  await dialog.getByRole("button", { name: "Copy curl command" }).click();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  expect(line).toBe(`curl -H "Authorization: Bearer ${copied}" ${fixture.url}/api/secrets/vaults`);
  const response: unknown = JSON.parse(execFileSync("sh", ["-c", `${line} --silent`], { encoding: "utf8" }));
  expect(response).toMatchObject([{ name: "Personal", is_encrypted: true }]);
  const value = await readValueOnce();
  expect(value).toBe(copied);
  expect(await storedContent()).not.toContain(value);
  const row = page.getByRole("listitem").filter({ hasText: "web shop, production" });
  for (const text of ["Read secrets", "Personal", "/prod/**", "127.0.0.1", "Never used"])
    expect(await row.textContent()).toContain(text);
  flows.push("create with restrictions and run the curl command");
});

test("a token is created by keyboard alone", async () => {
  await openTokens();
  await page.getByRole("link", { name: "New token" }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Name", { exact: true }).waitFor();
  await page.keyboard.type("created by keyboard");
  // Tab goes from the name to the first scope, then to the next one that is not implied.
  await page.keyboard.press("Tab");
  expect(await page.getByRole("checkbox", { name: "Read secrets" }).evaluate(isFocused)).toBe(true);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  expect(await page.getByRole("checkbox", { name: "List tokens" }).isChecked()).toBe(true);
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Copy your token now" });
  await dialog.waitFor();
  const done = dialog.getByRole("button", { name: "Done" });
  for (let presses = 0; presses < 6 && !(await done.evaluate(isFocused)); presses += 1)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const heading = page.getByRole("heading", { name: "Tokens", level: 1 });
  await expect.poll(() => heading.evaluate(isFocused), longTimeout).toBe(true);
  await page.getByText("created by keyboard").waitFor();
  flows.push("create by keyboard");
});

test("form errors are shown at their fields, and nothing is sent", async () => {
  await openForm(" ");
  await page.getByRole("checkbox", { name: "Read secrets" }).uncheck();
  await page.getByLabel("Paths", { exact: true }).fill("prod/**");
  await page.getByText('"prod/**" must start with /').waitFor();
  await page.getByLabel("IP addresses").fill("10.0.0.0/40");
  await page.getByText('"10.0.0.0/40" is not an IP address').waitFor();
  await page.getByLabel("Expires after").selectOption("never");
  await page.getByText("The token works until someone revokes it").waitFor();
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("Enter a name that says what uses the token").waitFor();
  await page.getByText("Select at least one permission").waitFor();
  expect(await page.getByLabel("Name", { exact: true }).evaluate(isFocused)).toBe(true);
  expect(await page.getByRole("dialog").count()).toBe(0);
  flows.push("errors at their fields");
});

test("a token is renamed and rotated, and the old value works for the chosen grace period", async () => {
  const first = await createToken("nightly backup");
  await choose("nightly backup", "Rename");
  await page.getByRole("dialog").getByLabel("Name").fill("hourly backup");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByText("hourly backup").waitFor();
  await choose("hourly backup", "Rotate");
  await page.getByRole("button", { name: "Rotate" }).click();
  await page.getByText("The old value works for one more hour").waitFor();
  const second = await readValueOnce();
  expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200]);
  await choose("hourly backup", "Rotate");
  await page.getByLabel("Grace period for the old value").selectOption("0");
  await page.getByRole("button", { name: "Rotate" }).click();
  const third = await readValueOnce();
  await expect.poll(() => statusWith(second), longTimeout).toBe(401);
  expect(await statusWith(third)).toBe(200);
  expect(await storedContent()).not.toMatch(tokenPattern);
  flows.push("rename and rotate");
});

test("a revoked token is confirmed by all servers, stops working, and moves to Revoked tokens", async () => {
  const value = await createToken("old laptop");
  expect(await statusWith(value)).toBe(200);
  await choose("old laptop", "Revoke");
  await page.getByText("This cannot be undone").waitFor();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("Revoked on all servers").waitFor();
  expect(await statusWith(value)).toBe(401);
  await page.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.locator("#main").evaluate(isFocused), longTimeout).toBe(true);
  expect(await page.getByText("old laptop").isVisible()).toBe(false);
  await page.getByText("Revoked tokens").click();
  await page.getByText("old laptop").waitFor();
  flows.push("revoke everywhere");
});

test("a revocation is not shown as confirmed while a server lags behind", async () => {
  const value = await createToken("behind");
  fixture.runSql(
    "INSERT INTO node (id, heartbeat_at, forgotten_until) VALUES (gen_random_uuid(), now() + interval '1 hour', 'epoch')",
  );
  await choose("behind", "Revoke");
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("Revoked, but not yet confirmed by every server").waitFor();
  expect(await page.getByText("Revoked on all servers").count()).toBe(0);
  expect(await statusWith(value)).toBe(401);
  fixture.runSql("DELETE FROM node WHERE forgotten_until = 'epoch'");
  await page.getByRole("button", { name: "Check again" }).click();
  await page.getByText("Revoked on all servers").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  flows.push("revocation not confirmed");
});

test("a fresh sign-in returns to the form with its input", async () => {
  await openForm("after a long lunch");
  await page.getByRole("checkbox", { name: "Write secrets" }).check();
  await page.getByLabel("Paths", { exact: true }).fill("/staging/*");
  fixture.setSignInTime("now() - interval '1 hour'");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByRole("button", { name: "Sign in again with Example" }).click();
  // The provider has already granted access to Keep and asks only for the account.
  await page.getByLabel("Account").fill("first@example.com");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${fixture.url}/secrets/tokens?new=token`);
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("after a long lunch");
  expect(await page.getByRole("checkbox", { name: "Write secrets" }).isChecked()).toBe(true);
  expect(await page.getByLabel("Paths", { exact: true }).inputValue()).toBe("/staging/*");
  await page.getByRole("button", { name: "Create token" }).click();
  expect(await readValueOnce()).toMatch(tokenPattern);
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  flows.push("sign in again");
});

test("the console has every scope of the server, with the same implied scopes", () => {
  const source = readFileSync(new URL("../../keep/src/authorization/scopes.ts", import.meta.url), "utf8");
  const rows = [...source.matchAll(/^ {2}"(?<scope>[a-z]+:[a-z]+)": \[(?<implied>[^\]]*)\]/gmu)];
  const ofServer = rows.map(({ groups = {} }) => [
    groups["scope"],
    [...(groups["implied"] ?? "").matchAll(/[a-z]+:[a-z]+/gu)].map(String),
  ]);
  const ofConsole = scopeGroups
    .flatMap(({ scopes }) => scopes)
    .map(({ scope, implies: brings }) => [scope, brings]);
  expect(ofServer.length).toBe(14);
  expect(Object.fromEntries(ofConsole)).toEqual(Object.fromEntries(ofServer));
});

function isFocused(element: Element): boolean {
  return element === document.activeElement;
}
