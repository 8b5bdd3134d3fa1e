import { Hidden } from "@hearth-and-keep/logging";
import { makeWorkloadKey } from "@hearth-and-keep/test-servers";
import type { ApiToken, ExchangeAttempts, Problem, TrustRule } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addSession } from "../access/test/fixture.ts";
import { resumeAccount, suspendAccount } from "../accounts/suspend-account.ts";
import { verifyDatabase } from "../commands/verify-audit.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { readAs } from "../test/fake-browser.ts";
import { safeConditions } from "./test/claim-sets.ts";
import { type Owner, startWorkloadKeep, times, type WorkloadKeep } from "./test/start-workload-keep.ts";

const path = "/api/secrets/trust-rules";
let fixture: WorkloadKeep;
let owner: Owner;
beforeAll(async () => {
  fixture = await startWorkloadKeep();
});
beforeEach(async () => {
  owner = await fixture.addOwner();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const sign = (changes: object = {}) =>
  fixture.sign(fixture.claimsOf("github", { aud: owner.audience, ...changes }));
const exchange = (changes: object = {}, fields: Readonly<Record<string, string>> = {}) =>
  fixture.exchange(sign(changes), fields);
const useToken = async (token: string | undefined, at = fixture.keep): Promise<number> =>
  (await at.request("/api/secrets/vaults", { token: token ?? "" })).status;
const send = (method: string, rule: string, body?: object) =>
  owner.browser.request(`${path}/${rule}`, { method, body });

async function readEvents(type: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  type Page = { readonly items: readonly { readonly body: Readonly<Record<string, unknown>> }[] };
  const page = await readAs<Page>(await owner.browser.request(`/api/secrets/audit?type=${type}`));
  return page.items.map(({ body }) => body);
}

const runSql = (text: string, values: readonly unknown[] = []) =>
  asSuperuser(fixture.keep.databaseUrl, async (superuser) => (await superuser.query(text, [...values])).rows);

/** What the verification of the database says of trust rules. */
async function verifyRules(): Promise<string> {
  const printed: string[] = [];
  const { database, key } = fixture.keep;
  const wrapper = readKeys(new Hidden(key));
  await verifyDatabase({}, { database, wrapper, print: (line) => printed.push(line) });
  return printed.filter((line) => line.includes("trust_rule")).join("\n");
}

test("a workload's token is exchanged for one with the rule's grant, which the list shows with its origin", async () => {
  const grant = { scopes: ["secrets:read", "vaults:read"], vault_ids: [owner.vaultId], paths: ["/prod/**"] };
  const rule = await fixture.createRule(owner, "github", { ...grant, lifetime_seconds: 120 });
  const issued = await exchange();
  expect(issued).toMatchObject({
    status: 200,
    issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    token_type: "Bearer",
    expires_in: 120,
    scope: "secrets:read vaults:read",
  });
  const { items } = await readAs<{ items: ApiToken[] }>(await owner.browser.request("/api/secrets/tokens"));
  expect(items).toMatchObject([
    {
      ...grant,
      name: "Deploy with github: repo:octo-org@65/octo-repo@74:environment:prod",
      created_by: `trust-rule:${rule.id}`,
    },
  ]);
  const lifetime = Date.parse(items[0]?.expires_at ?? "") - Date.parse(items[0]?.created_at ?? "");
  expect(Math.abs(lifetime - 120_000)).toBeLessThan(5000);
  expect(await useToken(issued.access_token)).toBe(200);
  const [event] = await readEvents("token-created");
  expect(event).toMatchObject({
    by: `trust-rule:${rule.id}`,
    issuer: fixture.issuer.issuer,
    subject: "repo:octo-org@65/octo-repo@74:environment:prod",
  });
});

test("a requested scope narrows the token, and one beyond the rule is refused", async () => {
  await fixture.createRule(owner, "github", { scopes: ["secrets:read"] });
  const narrow = await exchange({}, { scope: "secrets:list" });
  expect([narrow.status, narrow.scope]).toEqual([200, "secrets:list"]);
  for (const scope of [
    "secrets:write",
    "secrets:list secrets:write",
    "everything",
    "secrets:list  secrets:read",
  ])
    expect(await exchange({}, { scope })).toMatchObject({ status: 400, error: "invalid_scope" });
});

test("a token counts once, on every node, and in parallel", async () => {
  await fixture.createRule(owner, "github");
  await using other = await fixture.addNode();
  const token = sign();
  const answers = await Promise.all(
    [fixture.keep, other, fixture.keep, other].map((node) => fixture.exchange(token, {}, node)),
  );
  expect(answers.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([
    200, 400, 400, 400,
  ]);
  // The same id in another token, and no id in the same one.
  const jti = "same";
  expect([(await exchange({ jti })).status, (await exchange({ jti, sha: "other" })).status]).toEqual([
    200, 400,
  ]);
  const anonymous = sign({ jti: undefined });
  expect((await fixture.exchange(anonymous)).status).toBe(200);
  expect((await fixture.exchange(anonymous)).status).toBe(400);
  const reasons = (await readEvents("token-exchange-refused")).map(({ reason }) => reason);
  expect(new Set(reasons)).toEqual(new Set(["already-exchanged"]));
});

test("a changed or deleted rule ends its tokens on every node; a renamed one does not", async () => {
  const rule = await fixture.createRule(owner, "github");
  await using other = await fixture.addNode();
  const first = (await exchange()).access_token;
  expect([await useToken(first), await useToken(first, other)]).toEqual([200, 200]);
  const renamed = await readAs<TrustRule>(await send("PATCH", rule.id, { name: "Renamed" }));
  expect([renamed.name, await useToken(first)]).toEqual(["Renamed", 200]);
  await readAs(await send("PATCH", rule.id, { scopes: ["vaults:read", "tokens:read"] }));
  await expect.poll(async () => [await useToken(first), await useToken(first, other)]).toEqual([401, 401]);
  const second = (await exchange()).access_token;
  expect(await useToken(second)).toBe(200);
  expect((await send("DELETE", rule.id)).status).toBe(204);
  await expect.poll(() => useToken(second)).toBe(401);
  expect((await exchange()).status).toBe(400);
  expect((await readEvents("token-revoked")).length).toBe(2);
  for (const type of ["created", "changed", "deleted"])
    expect((await readEvents(`trust-rule-${type}`)).length).toBeGreaterThan(0);
});

test("an unsafe rule is refused with what to add, also by a change", async () => {
  const rule = await fixture.createRule(owner, "github");
  const conditions = safeConditions.github.filter(({ claim }) => claim !== "repository_id");
  const refused = await send("PATCH", rule.id, { conditions });
  // The contract's type.
  const { errors } = (await refused.json()) as Problem;
  expect([refused.status, errors?.[0]?.reason]).toEqual([
    422,
    expect.stringContaining("must contain a condition on repository_id, a number"),
  ]);
  const create = fixture.createRule(owner, "github", { conditions });
  await expect(create).rejects.toThrow("Keep returned 422");
  await expect(fixture.createRule(owner, "github", { lifetime_seconds: 3601 })).rejects.toThrow("422");
  await expect(fixture.createRule(owner, "github", { vault_ids: [rule.id] })).rejects.toThrow("vault_ids");
  expect((await exchange()).status).toBe(200);
});

test("a rule needs a fresh sign-in, and nobody else's rule is found", async () => {
  const rule = await fixture.createRule(owner, "github");
  const stale = `__Host-session=${(await addSession(fixture.keep, owner, "1 hour")).text}`;
  const renaming = { method: "PATCH", cookie: stale, body: { name: "x" } };
  expect((await owner.browser.request(`${path}/${rule.id}`, renaming)).status).toBe(403);
  expect((await owner.browser.request(path, { cookie: stale })).status).toBe(200);
  const stranger = await fixture.addOwner();
  for (const method of ["GET", "DELETE"])
    expect((await stranger.browser.request(`${path}/${rule.id}`, { method })).status).toBe(404);
  expect((await stranger.browser.request(`${path}/${rule.id}/attempts`)).status).toBe(404);
  const token = (await fixture.keep.addToken(owner, { scopes: ["tokens:write"] })).text;
  expect((await fixture.keep.request(path, { token })).status).toBe(403);
});

test("the preview shows which of the last tokens a rule would match, and what does not match", async () => {
  const strict = await fixture.createRule(owner, "github", { name: "Strict" });
  expect((await exchange({ environment: "staging" })).status).toBe(400);
  expect((await exchange()).status).toBe(200);
  const forged = makeWorkloadKey();
  const [genuine] = fixture.issuer.keys.splice(0, 1, forged);
  const unknown = sign();
  fixture.issuer.keys.splice(0, 1, ...(genuine === undefined ? [] : [genuine]));
  expect((await fixture.exchange(unknown)).status).toBe(400);
  const attempts = await readAs<ExchangeAttempts>(
    await owner.browser.request(`${path}/${strict.id}/attempts`),
  );
  expect(attempts.items).toMatchObject([
    { is_verified: false, reason: "key-unknown", matches: true },
    { is_verified: true, reason: null, rule_id: strict.id, matches: true, mismatches: [] },
    {
      is_verified: true,
      reason: "no-rule-matches",
      matches: false,
      mismatches: [{ claim: "environment", reason: "is not a value that the rule allows" }],
    },
  ]);
  expect(JSON.stringify(attempts)).not.toContain("octocat");
  const wide = safeConditions.github.map((condition) =>
    condition.claim === "environment" ? { ...condition, values: ["prod", "staging"] } : condition,
  );
  const body = {
    name: "Wide",
    provider: "github",
    issuer: fixture.issuer.issuer,
    conditions: wide,
    scopes: ["vaults:read"],
  };
  const preview = await owner.browser.request(`${path}/preview`, { method: "POST", body });
  const { items } = await readAs<ExchangeAttempts>(preview);
  expect(items.map(({ matches }) => matches)).toEqual([true, true, true]);
  const rules = await readAs<{ items: TrustRule[] }>(await owner.browser.request(path));
  expect(rules.items.map(({ name }) => name)).toEqual(["Strict"]);
});

test("a flood of forged tokens does not displace the verified ones", async () => {
  const rule = await fixture.createRule(owner, "github");
  expect((await exchange()).status).toBe(200);
  const forged = Array.from({ length: 60 }, () => fixture.exchange(`${sign().slice(0, -8)}AAAAAAAA`));
  expect(new Set((await Promise.all(forged)).map(({ status }) => status))).toEqual(new Set([400]));
  const { items } = await readAs<ExchangeAttempts>(
    await owner.browser.request(`${path}/${rule.id}/attempts`),
  );
  expect(items.filter((item) => item.is_verified).length).toBe(1);
  expect(items.filter((item) => !item.is_verified).length).toBe(50);
});

test("requests that are no exchange get errors of OAuth", async () => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{ grant_type: "client_credentials" }, "invalid_request"],
    [{ subject_token_type: "urn:ietf:params:oauth:token-type:saml2" }, "invalid_request"],
    [{ requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" }, "invalid_request"],
    [{ actor_token: "x" }, "invalid_request"],
    [{ subject_token: "" }, "invalid_request"],
    [{ subject_token: "x".repeat(16_385) }, "invalid_request"],
    [{ audience: "https://other.example" }, "invalid_target"],
    [{ resource: "https://other.example" }, "invalid_target"],
    [{ client_id: "ignored" }, "invalid_grant"],
  ];
  for (const [fields, error] of cases)
    expect([fields, await fixture.exchange("nothing", fields)]).toMatchObject([
      fields,
      { status: 400, error },
    ]);
  const json = await fixture.keep.request("/api/secrets/tokens/exchange", { method: "POST", body: {} });
  expect([json.status, await json.json()]).toMatchObject([400, { error: "invalid_request" }]);
});

describe("whoever can write to the database", () => {
  test("cannot add, widen or put back a rule", async () => {
    const rule = await fixture.createRule(owner, "github");
    expect(await verifyRules()).toBe("");
    const [row] = await runSql("SELECT * FROM trust_rule WHERE id = $1", [rule.id]);
    const wide = JSON.stringify([
      { claim: "sub", values: ["repo:octo-org@65/octo-repo@74:environment:prod"] },
    ]);
    await runSql("UPDATE trust_rule SET conditions = $2 WHERE id = $1", [rule.id, wide]);
    expect((await exchange()).status).toBe(400);
    await runSql("UPDATE trust_rule SET conditions = $2 WHERE id = $1", [
      rule.id,
      JSON.stringify(row.conditions),
    ]);
    expect((await exchange()).status).toBe(200);
    const changed = await fixture.createRule(owner, "generic");
    await runSql("UPDATE trust_rule SET lifetime_seconds = 3600 WHERE id = $1", [changed.id]);
    expect((await send("PATCH", changed.id, { name: "Accepted" })).status).toBe(500);
    expect((await send("DELETE", changed.id)).status).toBe(204);
    expect((await send("DELETE", rule.id)).status).toBe(204);
    const columns = Object.keys(row);
    await runSql(
      `INSERT INTO trust_rule (${columns.join(", ")}) VALUES (${columns.map((_name, index) => `$${index + 1}`).join(", ")})`,
      columns.map((name) => (name === "conditions" ? JSON.stringify(row[name]) : row[name])),
    );
    expect((await exchange()).status).toBe(400);
    expect(await verifyRules()).toContain(`trust_rule ${rule.id} is not genuine`);
    expect((await readEvents("token-exchange-refused")).map(({ reason }) => reason)).toEqual([
      "rule-not-genuine",
      "rule-not-genuine",
    ]);
  });
});

test("a suspended account exchanges nothing until it is resumed, and a deleted one leaves no rule", async () => {
  await fixture.createRule(owner, "github");
  const { services, database } = fixture.keep;
  const action = { accountId: owner.accountId, operator: "command-line" };
  await database.inAccount(owner.accountId, (transaction) => suspendAccount(transaction, action, services));
  expect((await exchange()).status).toBe(400);
  await database.inAccount(owner.accountId, (transaction) => resumeAccount(transaction, action, services));
  expect((await exchange()).status).toBe(200);
  owner.browser.cookies.set("__Host-session", (await addSession(fixture.keep, owner, "1 minute")).text);
  const { display_name: confirm } = await owner.browser.account();
  const deleted = await owner.browser.request("/api/account", { method: "DELETE", body: { confirm } });
  expect(deleted.status).toBe(204);
  expect((await exchange()).status).toBe(400);
  for (const table of ["trust_rule", "used_subject_token", "exchange_attempt"])
    expect(await runSql(`SELECT FROM ${table} WHERE account_id = $1`, [owner.accountId])).toEqual([]);
});

test("a token that is exchanged within the skew of clocks is accepted, and one beyond it is not", async () => {
  await fixture.createRule(owner, "github");
  const { exp } = times();
  expect((await exchange({ exp: exp - 300 - 30 })).status).toBe(200);
  expect((await exchange({ exp: exp - 300 - 90 })).status).toBe(400);
  expect((await exchange(times(30))).status).toBe(200);
  expect((await exchange(times(90))).status).toBe(400);
});
