import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, startConsoleFixture } from "./console-fixture.ts";
import { chooseMenuItem } from "./every-screen/screen-fixture.ts";
import { createWorkload } from "./workload-fixture.ts";

let keep: ConsoleFixture;
let page: Page;
const flows: string[] = [];

beforeAll(async () => {
  keep = await startConsoleFixture();
  page = await keep.signIn();
  page.setDefaultTimeout(20_000);
});

afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "teams 9",
      text: `workload identity: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 8 },
    });
});

type Rule = { readonly id: string; readonly name: string; readonly conditions: readonly object[] };

async function readRules(): Promise<readonly Rule[]> {
  return (await keep.request<{ items: readonly Rule[] }>(page, "/api/secrets/trust-rules")).items;
}

async function openForm(target = page): Promise<void> {
  await target.goto(`${keep.url}/secrets/trust-rules?new=rule`);
  await target.getByRole("button", { name: "Create trust rule" }).waitFor();
}

const list = (target = page) => target.getByRole("list", { name: "Trust rules" });

test("a rule for a GitHub job starts with the conditions that Keep requires", async () => {
  await page.goto(`${keep.url}/secrets`);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Trust rules" }).click();
  await page.getByText("No trust rules yet").waitFor();
  await page.getByRole("link", { name: "New trust rule" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Deploy");
  await page.getByLabel("Values 1").fill("74");
  await page.getByLabel("Values 2").fill("65");
  await page.getByLabel("Values 3").fill("production\nstaging");
  await page.getByLabel("Paths", { exact: true }).fill("/prod/**");
  await page.getByRole("button", { name: "Create trust rule" }).click();
  await page.getByText("Trust rule created").waitFor();
  const text = await list().textContent();
  expect(text).toContain("environment is one of production, staging");
  expect(text).toContain("For 15 minutes");
  flows.push("create a rule");
  await page.getByText(/^http:\/\/localhost:\d+\/accounts\/[0-9a-f-]{36}$/u).waitFor();
  flows.push("read the audience");
});

test("a rule that would admit too much is refused, and the console says what to add", async () => {
  await openForm();
  await page.getByLabel("Name", { exact: true }).fill("Too open");
  await page.getByLabel("Values 1").fill("74");
  await page.getByLabel("Values 2").fill("65");
  await page.getByRole("button", { name: "Remove condition 3" }).click();
  await page.getByRole("button", { name: "Create trust rule" }).click();
  await page.getByText("must contain a condition on environment").waitFor();
  expect((await readRules()).map(({ name }) => name)).not.toContain("Too open");
  flows.push("an unsafe rule refused");
});

test("a form with mistakes names each of them and moves to the first", async () => {
  await openForm();
  await page.getByLabel("Provider").selectOption("Another issuer");
  await page.getByRole("button", { name: "Create trust rule" }).click();
  await page.getByText("Enter a name that says what uses the rule").waitFor();
  await page.getByText("Enter the issuer's https URL").waitFor();
  await page.getByText("Enter a claim and at least one value for each condition").waitFor();
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-invalid")))
    .toBe("true");
  flows.push("a form with mistakes");
});

test("a rule is edited, also after another sign-in, which keeps what was entered", async () => {
  await page.goto(`${keep.url}/secrets/trust-rules`);
  await chooseMenuItem(page, "More actions for Deploy", "Edit");
  await page.getByLabel("Name", { exact: true }).fill("Deploy production");
  await page.getByLabel("Tokens are valid for").selectOption("1 hour");
  keep.setSignInTime("now() - interval '1 hour'");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Sign in again to save trust rules").waitFor();
  await page.getByRole("button", { name: "Sign in again with Example" }).click();
  await page.getByRole("textbox", { name: "Account" }).fill("first@example.com");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect.poll(() => page.getByLabel("Name", { exact: true }).inputValue()).toBe("Deploy production");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Trust rule saved").waitFor();
  await list().getByText("For 60 minutes").waitFor();
  flows.push("edit a rule after signing in again");
});

test("the last presented tokens are compared with a rule before it is saved, and afterwards", async () => {
  const workload = createWorkload(keep);
  const { audience } = await keep.request<{ audience: string }>(page, "/api/secrets/trust-rules");
  const token = workload.sign("worker-7", audience);
  expect((await workload.present(token)).status).toBe(400);

  await openForm();
  await page.getByLabel("Name", { exact: true }).fill("Workers");
  await page.getByLabel("Provider").selectOption("Another issuer");
  await page.getByLabel("Issuer", { exact: true }).fill(workload.issuer);
  await page.getByLabel("Keys of the issuer (optional)").fill(JSON.stringify(workload.jwks));
  await page.getByLabel("Values 1").fill("worker-8");
  await page.getByRole("button", { name: "Compare" }).click();
  const attempts = page.getByRole("list", { name: "Recent tokens" });
  await attempts.getByText("is not a value that the rule allows").waitFor();
  await page.getByLabel("Values 1").fill("worker-7");
  await page.getByRole("button", { name: "Compare" }).click();
  await attempts.getByText("Matches", { exact: true }).waitFor();
  flows.push("preview a rule");
  await page.getByRole("button", { name: "Create trust rule" }).click();
  await page.getByText("Trust rule created").waitFor();
  expect((await workload.present(token)).status).toBe(200);
  await chooseMenuItem(page, "More actions for Workers", "Recent tokens…");
  await page.getByRole("dialog").getByText("exchanged").waitFor();
  expect(await page.content()).not.toContain(token);
  await page.keyboard.press("Escape");
  flows.push("see why a token matched");
});

test("a deleted rule gives out no more tokens", async () => {
  await page.goto(`${keep.url}/secrets/trust-rules`);
  await chooseMenuItem(page, "More actions for Workers", "Delete…");
  await page.getByRole("button", { name: "Delete rule" }).click();
  await page.getByText("Workers deleted").waitFor();
  await expect.poll(() => list().getByText("Workers").count()).toBe(0);
  flows.push("delete a rule");
});

test("on a phone a rule is created", async () => {
  const phone = await keep.signIn(undefined, { viewport: { width: 390, height: 844 } });
  phone.setDefaultTimeout(20_000);
  await openForm(phone);
  await phone.getByLabel("Name", { exact: true }).fill("Pocket");
  await phone.getByLabel("Provider").selectOption("Kubernetes");
  await phone.getByLabel("Issuer", { exact: true }).fill("https://pocket.example");
  await phone.getByLabel("Values 1").fill("system:serviceaccount:pocket:worker");
  expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await phone.getByRole("button", { name: "Create trust rule" }).click();
  await list(phone).getByText("Pocket", { exact: true }).waitFor();
  expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await phone.context().close();
  flows.push("on a phone");
});
