import type { OperatorAccount, Problem } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addSession } from "../access/test/fixture.ts";
import { changeOperator } from "../accounts/suspend-account.ts";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { createFakeBrowser, type FakeBrowser, readAs } from "../test/fake-browser.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let fixture: KeepWithProviders;
let other: TestKeep;
beforeAll(async () => {
  fixture = await startKeepWithProviders();
  other = await fixture.addNode();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const accountsPath = "/api/operator/accounts";
/** Each refused try counts towards the limit of invalid credentials of this address. */
const seldom = { interval: 400 };

function setOperator(accountId: string, isOperator: boolean): Promise<void> {
  return fixture.keep.database.inAccount(accountId, (transaction) =>
    changeOperator(transaction, { accountId, isOperator }, fixture.keep.services),
  );
}

/** Signs in as an operator. */
async function startOperator(): Promise<FakeBrowser> {
  const operator = await fixture.signIn("code-hosting", "first");
  await setOperator((await operator.account()).id, true);
  return operator;
}

/** A person with a session and a token, who was seen on both nodes. */
async function startMember() {
  const browser = await fixture.signIn("general", "101");
  const { id: accountId } = await browser.account();
  const token = (await fixture.keep.addToken({ accountId }, { scopes: ["vaults:read"] })).text;
  const useToken = async (keep: TestKeep): Promise<number> =>
    (await keep.request("/api/secrets/vaults", { token })).status;
  expect(await Promise.all([useToken(fixture.keep), useToken(other)])).toEqual([200, 200]);
  return { browser, accountId, useToken };
}

const post = (browser: FakeBrowser, path: string) => browser.request(path, { method: "POST" });
const codeOf = async (response: Response): Promise<string> =>
  // The contract's type.
  ((await response.json()) as Problem).code;

type EventBody = { readonly type: string };

async function readEvents(browser: FakeBrowser, query: string): Promise<readonly EventBody[]> {
  const page = await readAs<{ readonly items: readonly { readonly body: EventBody }[] }>(
    await browser.request(`/api/secrets/audit${query}`),
  );
  return page.items.map(({ body }) => body);
}

const runSql = (text: string, values: readonly unknown[] = []) =>
  asSuperuser(fixture.keep.databaseUrl, async (superuser) => (await superuser.query(text, [...values])).rows);

test("an operator lists accounts with their identities, page by page; others are refused", async () => {
  const operator = await startOperator();
  const member = await startMember();
  const first = await readAs<{ items: OperatorAccount[]; next_cursor?: string }>(
    await operator.request(`${accountsPath}?limit=1`),
  );
  expect([first.items.length, first.next_cursor]).toEqual([1, first.items[0]?.id]);
  const rest = await readAs<{ items: OperatorAccount[] }>(
    await operator.request(`${accountsPath}?cursor=${first.next_cursor}`),
  );
  const listed = [...first.items, ...rest.items];
  expect(listed.find(({ id }) => id === member.accountId)).toMatchObject({
    status: "active",
    is_operator: false,
    identities: [{ provider: "general", issuer: fixture.general.issuer, subject: "101" }],
  });
  expect(listed.filter(({ is_operator: isOperator }) => isOperator)).toHaveLength(1);
  const one = await readAs<OperatorAccount>(await operator.request(`${accountsPath}/${member.accountId}`));
  expect(one).toEqual(listed.find(({ id }) => id === member.accountId));
  const refused = await member.browser.request(accountsPath);
  expect([refused.status, await codeOf(refused)]).toEqual([403, "operator_required"]);
});

test("a suspension ends sessions and tokens on every node, and refuses sign-ins until it is resumed", async () => {
  const operator = await startOperator();
  const member = await startMember();
  const path = `${accountsPath}/${member.accountId}`;
  const suspended = await readAs<OperatorAccount>(await post(operator, `${path}/suspend?wait=all`));
  expect(suspended.status).toBe("suspended");
  expect(await Promise.all([member.useToken(fixture.keep), member.useToken(other)])).toEqual([401, 401]);
  expect(await member.browser.isSignedIn()).toBe(false);
  await expect(fixture.signIn("general", "101")).rejects.toThrow("This account is suspended");
  expect((await post(operator, `${path}/suspend`)).status).toBe(200);
  expect((await post(operator, `${path}/resume?wait=all`)).status).toBe(200);
  // A hash that belongs to no valid token is remembered for a second.
  await expect.poll(() => member.useToken(fixture.keep), seldom).toBe(200);
  await expect.poll(() => member.useToken(other), seldom).toBe(200);
  // The session has ended for good.
  expect(await member.browser.isSignedIn()).toBe(false);
  const again = await fixture.signIn("general", "101");
  const bodies = await readEvents(again, "");
  const { id: operatorId } = await operator.account();
  expect(bodies.filter(({ type }) => type.startsWith("account-"))).toMatchObject([
    { type: "account-resumed", operator: operatorId },
    { type: "account-suspended", operator: operatorId },
    { type: "account-created" },
  ]);
  const own = await readEvents(operator, "?type=account-managed");
  expect(own[0]).toMatchObject({ type: "account-managed", account: member.accountId });
});

test("nothing that was under way brings a suspended account back", async () => {
  const operator = await startOperator();
  const member = await startMember();
  const { codeHosting, general, keep } = fixture;
  codeHosting.putAccount({ id: 990, login: "linked", name: null, emails: [] });
  const begin = async (purpose: "link/code-hosting" | "confirm/general") => {
    const response = await post(member.browser, `/auth/${purpose}`);
    const provider = purpose === "link/code-hosting" ? "code-hosting" : "general";
    const account = provider === "general" ? "101" : "linked";
    return fixture.authenticateAt(provider, response.headers.get("location") ?? "", account);
  };
  const token = (await keep.addToken(member, { scopes: ["vaults:write"] })).text;
  const createVault = async () =>
    (
      await keep.request("/api/secrets/vaults", {
        method: "POST",
        token,
        body: { name: "Once" },
        headers: { "idempotency-key": "once" },
      })
    ).status;
  expect(await createVault()).toBe(201);
  const started = createFakeBrowser(keep);
  const location = await started.startSignIn("general");
  const signInCallback = await general.signInAs(location, { account: "101" });
  const path = `${accountsPath}/${member.accountId}`;
  for (const purpose of ["link/code-hosting", "confirm/general"] as const) {
    const callback = await begin(purpose);
    expect((await post(operator, `${path}/suspend?wait=all`)).status).toBe(200);
    expect((await member.browser.followCallback(callback)).status).toBe(403);
    expect((await post(operator, `${path}/resume?wait=all`)).status).toBe(200);
    member.browser.cookies.clear();
    for (const [name, value] of (await fixture.signIn("general", "101")).cookies)
      member.browser.cookies.set(name, value);
    // The same without the suspension.
    expect((await member.browser.followCallback(await begin("confirm/general"))).status).toBe(303);
  }
  expect((await post(operator, `${path}/suspend?wait=all`)).status).toBe(200);
  expect((await started.followCallback(signInCallback)).status).toBe(403);
  expect(await createVault()).toBe(401);
  expect((await post(operator, `${path}/resume?wait=all`)).status).toBe(200);
  await expect.poll(createVault, seldom).toBe(201);
});

test("a change needs a fresh sign-in, another account, and an account that exists", async () => {
  const operator = await startOperator();
  const { accountId: memberId } = await startMember();
  const { id: operatorId, identities } = await operator.account();
  const person = { accountId: operatorId, identityId: identities[0]?.id ?? "", vaultId: "" };
  const { text } = await addSession(fixture.keep, person, "1 hour");
  const stale = (path: string, method: string) =>
    operator.request(path, { method, cookie: `session=${text}` });
  const refused = await stale(`${accountsPath}/${memberId}/suspend`, "POST");
  expect([refused.status, await codeOf(refused)]).toEqual([403, "fresh_sign_in_required"]);
  expect((await stale(accountsPath, "GET")).status).toBe(200);
  expect((await post(operator, `${accountsPath}/${operatorId}/suspend`)).status).toBe(409);
  const missing = "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e";
  expect((await post(operator, `${accountsPath}/${missing}/suspend`)).status).toBe(404);
  expect((await operator.request(`${accountsPath}/${missing}`)).status).toBe(404);
  expect((await post(operator, `${accountsPath}/${memberId}/suspend`)).status).toBe(200);
  expect((await post(operator, `${accountsPath}/${memberId}/resume`)).status).toBe(200);
});

test("an account that is no longer an operator's loses access at its next request", async () => {
  const operator = await startOperator();
  expect((await operator.request(accountsPath)).status).toBe(200);
  await setOperator((await operator.account()).id, false);
  expect((await operator.request(accountsPath)).status).toBe(403);
  expect(await operator.isSignedIn()).toBe(true);
});

describe("whoever can write to the database", () => {
  test("cannot resume an account", async () => {
    const operator = await startOperator();
    const member = await startMember();
    const path = `${accountsPath}/${member.accountId}`;
    const [before] = await runSql("SELECT status, epoch, mac FROM account WHERE account_id = $1", [
      member.accountId,
    ]);
    expect((await post(operator, `${path}/suspend?wait=all`)).status).toBe(200);
    const [after] = await runSql("SELECT status, epoch, mac FROM account WHERE account_id = $1", [
      member.accountId,
    ]);
    const forgeries = [
      { ...after, status: "active" },
      // The whole row from before the suspension.
      before,
      { ...before, epoch: after.epoch },
    ];
    const put = "UPDATE account SET status = $2, epoch = $3, mac = $4 WHERE account_id = $1";
    for (const { status, epoch, mac } of forgeries) {
      await runSql(put, [member.accountId, status, epoch, mac]);
      expect(await Promise.all([member.useToken(fixture.keep), member.useToken(other)])).toEqual([401, 401]);
      await expect(fixture.signIn("general", "101")).rejects.toThrow("Keep returned 500");
      // A hash that belongs to no valid token is remembered for a second.
      await new Promise((resolve) => setTimeout(resolve, 1100));
    }
    await runSql(put, [member.accountId, after.status, after.epoch, after.mac]);
    expect((await post(operator, `${path}/resume?wait=all`)).status).toBe(200);
    await expect.poll(() => member.useToken(other), seldom).toBe(200);
  });

  test("cannot add an operator", async () => {
    const member = await startMember();
    const set = "UPDATE account SET is_operator = $2 WHERE account_id = $1";
    await runSql(set, [member.accountId, true]);
    expect((await member.browser.request(accountsPath)).status).toBe(401);
    await runSql(set, [member.accountId, false]);
    expect((await member.browser.request(accountsPath)).status).toBe(403);
    expect(await member.browser.isSignedIn()).toBe(true);
  });
});
