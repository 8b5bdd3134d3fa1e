import { expect, test } from "vitest";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import type { FakeBrowser } from "../test/fake-browser.ts";
import { startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";

const codePattern = /enter the code (?<code>[0-9A-Z]{5}(?:-[0-9A-Z]{5}){3}) at (?<page>\S+) within/u;

function printedCode({ printed }: Pick<TestKeep, "printed">): string | undefined {
  return codePattern.exec(printed.join("\n"))?.groups?.["code"];
}

const settings = { trustedProxies: "127.0.0.1" };
let addresses = 0;

function nextAddress(): string {
  addresses += 1;
  return `10.0.0.${addresses}`;
}

type Typist = { readonly browser: FakeBrowser; readonly keep: TestKeep; readonly address?: string };

/** Submits the form of the page as a browser does, from a new address each time; guesses of one address are limited. */
async function enterCode({ browser, keep, address = nextAddress() }: Typist, code: string): Promise<number> {
  const body = new FormData();
  body.append("code", code);
  const response = await fetch(new URL("/operator", keep.url), {
    method: "POST",
    body,
    redirect: "manual",
    headers: {
      cookie: `session=${browser.cookies.get("session")}`,
      "sec-fetch-site": "same-origin",
      "x-forwarded-for": address,
    },
  });
  return response.status;
}

const isOperator = async (browser: FakeBrowser): Promise<boolean> =>
  (await browser.request("/api/operator/accounts")).status === 200;

const runSql = ({ databaseUrl }: TestKeep, text: string) =>
  asSuperuser(databaseUrl, (superuser) => superuser.query(text));

test("the code that is printed at the first start makes one signed-in person the operator, once", {
  timeout: 120_000,
}, async () => {
  await using fixture = await startKeepWithProviders({ settings });
  const { keep } = fixture;
  const code = printedCode(keep) ?? "";
  const second = await fixture.addNode();
  expect(printedCode(second)).not.toBe(code);
  const [first, other] = [await fixture.signIn("general", "101"), await fixture.signIn("general", "102")];
  expect((await first.request("/operator")).status).toBe(200);
  expect((await first.request("/operator", { cookie: "" })).headers.get("location")).toBe(
    "/sign-in?return_to=/operator",
  );
  for (const wrong of [
    "",
    "0",
    code.slice(1),
    `${code}0`,
    `${code.slice(0, -1)}${code.endsWith("0") ? "1" : "0"}`,
  ])
    expect(await enterCode({ browser: first, keep }, wrong)).toBe(403);
  expect(await isOperator(first)).toBe(false);
  // Also on another node, in lower case and without hyphens.
  const attempts = await Promise.all([
    enterCode({ browser: first, keep }, code.toLowerCase().replaceAll("-", "")),
    enterCode({ browser: other, keep: second }, code),
    enterCode({ browser: other, keep: second }, printedCode(second) ?? ""),
  ]);
  expect(attempts.toSorted((one, another) => one - another)).toEqual([200, 403, 403]);
  expect([await isOperator(first), await isOperator(other)].filter(Boolean)).toHaveLength(1);
  expect(await enterCode({ browser: other, keep }, code)).toBe(403);
  expect(printedCode(await fixture.addNode())).toBeUndefined();
  expect(keep.logLines.join("\n")).not.toContain(code);
});

test("a code expires, and cannot be extended or added in the database", { timeout: 120_000 }, async () => {
  await using fixture = await startKeepWithProviders({ settings });
  const { keep } = fixture;
  const code = printedCode(keep) ?? "";
  const browser = await fixture.signIn("general", "101");
  await runSql(keep, "UPDATE operator_code SET expires_at = expires_at + interval '1 hour'");
  expect(await enterCode({ browser, keep }, code)).toBe(403);
  await runSql(keep, "UPDATE operator_code SET expires_at = now() - interval '1 second'");
  expect(await enterCode({ browser, keep }, code)).toBe(403);
  await runSql(
    keep,
    "INSERT INTO operator_code VALUES (sha256('00000000000000000000'), now() + interval '1 hour')",
  );
  expect(await enterCode({ browser, keep }, "00000000000000000000")).toBe(403);
  const next = await fixture.addNode();
  expect(await enterCode({ browser, keep: next }, printedCode(next) ?? "")).toBe(200);
  expect(await isOperator(browser)).toBe(true);
});

test("codes of pages of other sites are refused, and guesses are limited", async () => {
  await using fixture = await startKeepWithProviders({ settings });
  const { keep } = fixture;
  const browser = await fixture.signIn("general", "101");
  const body = new FormData();
  body.append("code", printedCode(keep) ?? "");
  const crossSite = await fetch(new URL("/operator", keep.url), {
    method: "POST",
    body,
    headers: { cookie: `session=${browser.cookies.get("session")}`, "sec-fetch-site": "cross-site" },
  });
  expect(crossSite.status).toBe(403);
  expect(await isOperator(browser)).toBe(false);
  const statuses: number[] = [];
  for (let guess = 0; guess < 12; guess += 1)
    statuses.push(await enterCode({ browser, keep, address: "10.1.0.1" }, "guess"));
  expect(statuses.slice(0, 5)).toEqual([403, 403, 403, 403, 403]);
  expect(statuses.at(-1)).toBe(429);
});

test("no code is printed when settings name operators, or nobody could sign in", async () => {
  await using named = await startKeepWithProviders({ settings: { operators: "general:101" } });
  expect(printedCode(named.keep)).toBeUndefined();
  await using closed = await startTestKeep();
  expect(printedCode(closed)).toBeUndefined();
});
