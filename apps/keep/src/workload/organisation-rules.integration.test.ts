import type { Problem, TrustRule } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { addSession } from "../access/test/fixture.ts";
import { resumeAccount, suspendAccount } from "../accounts/suspend-account.ts";
import { generateId } from "../generate-id.ts";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { createFakeBrowser } from "../test/fake-browser.ts";
import { safeConditions } from "./test/claim-sets.ts";
import { type Owner, startWorkloadKeep, type WorkloadKeep } from "./test/start-workload-keep.ts";

let fixture: WorkloadKeep;
let owner: Owner;
let acme: Organisation;
/** In which the owner has no grant at `/other`. */
let vault: string;
beforeAll(async () => {
  fixture = await startWorkloadKeep();
});
beforeEach(async () => {
  owner = await fixture.addOwner();
  acme = await createOrganisation(owner);
  vault = await createVault(owner);
});
afterAll(() => fixture[Symbol.asyncDispose]());

type Organisation = { readonly id: string; readonly path: string; readonly audience: string };
type Answer<Body> = { readonly status: number; readonly body: Body };
type Request = readonly [method: string, path: string, body?: object];

async function send<Body = Problem>(
  { browser }: Pick<Owner, "browser">,
  ...request: Request
): Promise<Answer<Body>> {
  const [method, path, sent] = request;
  const response = await browser.request(path, { method, body: sent });
  const text = await response.text();
  // The type that the caller expects of this route.
  const body = (text === "" ? {} : JSON.parse(text)) as Body;
  return { status: response.status, body };
}

async function succeed<Body>(person: Pick<Owner, "browser">, ...request: Request): Promise<Body> {
  const { status, body } = await send<Body>(person, ...request);
  if (status >= 300) throw new Error(`${request[0]} ${request[1]}: ${status} ${JSON.stringify(body)}`);
  return body;
}

async function createOrganisation(by: Owner): Promise<Organisation> {
  const { id } = await succeed<{ id: string }>(by, "POST", "/api/organisations", { name: "Acme" });
  const audience = `https://keep.example/organisations/${id}`;
  return { id, path: `/api/organisations/${id}`, audience };
}

async function createVault(by: Owner): Promise<string> {
  const { id } = await succeed<{ id: string }>(by, "POST", `${acme.path}/vaults`, { name: "Project" });
  for (const path of ["prod/KEY", "other/KEY"])
    await succeed(by, "PUT", `/api/secrets/vaults/${id}/secrets/by-path/${path}`, { value: path });
  return id;
}

async function addMember(role: string): Promise<Owner> {
  const person = await fixture.addOwner();
  const { code } = await succeed<{ code: string }>(owner, "POST", `${acme.path}/invitations`, { role });
  await succeed(person, "POST", "/api/invitations/accept", { code });
  return person;
}

const ruleBody = (changes: object = {}) => ({
  name: "Deploy",
  provider: "github",
  issuer: fixture.issuer.issuer,
  conditions: safeConditions.github,
  scopes: ["secrets:read"],
  vault_ids: [vault],
  ...changes,
});
const rules = () => `${acme.path}/trust-rules`;
const createRule = (changes: object = {}, by = owner) =>
  succeed<TrustRule>(by, "POST", rules(), ruleBody(changes));
const exchange = (changes: object = {}) =>
  fixture.exchange(fixture.sign(fixture.claimsOf("github", { aud: acme.audience, ...changes })));
const read = async (token: string | undefined, path = "prod/KEY", at = fixture.keep): Promise<number> =>
  (await at.request(`/api/secrets/vaults/${vault}/values/by-path/${path}`, { token: token ?? "" })).status;

const listVaults = async (token: string | undefined) =>
  (await fixture.keep.request("/api/secrets/vaults", { token: token ?? "" })).status;
const tokenOf = (grant: object) => ({ name: "Token", for: "organisation", vault_ids: [vault], ...grant });

type Event = Readonly<Record<string, unknown>>;

async function readEvents(path = acme.path, by = owner): Promise<readonly Event[]> {
  type Page = { readonly items: readonly { readonly body: Event }[] };
  return (await succeed<Page>(by, "GET", `${path}/audit?limit=200`)).items.map(({ body }) => body);
}

test("a workload's token for an organisation is exchanged for one of the organisation, with the rule's grant", async () => {
  const rule = await createRule({ paths: ["/prod/**"] });
  expect(rule).toMatchObject({ audience: acme.audience, created_by: `person:${owner.accountId}` });
  const listed = await succeed<{ items: TrustRule[]; audience: string }>(owner, "GET", rules());
  expect(listed).toEqual({ items: [rule], audience: acme.audience });
  const issued = await exchange();
  expect(issued).toMatchObject({ status: 200, scope: "secrets:read" });
  expect([await read(issued.access_token), await read(issued.access_token, "other/KEY")]).toEqual([200, 403]);
  const { items } = await succeed<{ items: object[] }>(owner, "GET", `${acme.path}/tokens`);
  expect(items).toMatchObject([{ created_by: `trust-rule:${rule.id}`, vault_ids: [vault] }]);
  expect(items[0]).not.toHaveProperty("owner_id");
  expect(await succeed(owner, "GET", `${rules()}/${rule.id}/attempts`)).toMatchObject({
    items: [{ rule_id: rule.id, reason: null, matches: true }],
  });
  expect(await succeed(owner, "POST", `${rules()}/preview`, ruleBody())).toMatchObject({
    items: [{ matches: true }],
  });
  await succeed(owner, "PATCH", `${rules()}/${rule.id}`, { name: "Renamed" });
  await succeed(owner, "DELETE", `${rules()}/${rule.id}`);
  const by = `person:${owner.accountId}`;
  const events = await readEvents();
  for (const event of [
    { type: "trust-rule-created", by },
    { type: "trust-rule-changed", by, name: "Renamed" },
    { type: "trust-rule-deleted", by },
    { type: "token-created", by: `trust-rule:${rule.id}` },
  ])
    expect(events).toContainEqual(expect.objectContaining(event));
});

test("only the audience of the organisation is accepted by its rules, and only a person's by theirs", async () => {
  const everything = { vault_ids: null, scopes: ["vaults:read"] };
  await createRule(everything);
  await fixture.createRule(owner, "github", everything);
  const other = await createOrganisation(owner);
  const before = (await readEvents()).length;
  const audiences = [
    `https://keep.example/accounts/${acme.id}`,
    `https://keep.example/organisations/${owner.accountId}`,
    `https://keep.example/organisations/${acme.id}/`,
    `https://keep.example/organisations//${acme.id}`,
    `https://keep.example/ORGANISATIONS/${acme.id}`,
    `https://keep.example/organisations/${acme.id.toUpperCase()}`,
    `https://keep.example/organisations/${generateId()}`,
    `https://other.example/organisations/${acme.id}`,
    `organisations/${acme.id}`,
    acme.id,
    [acme.audience, owner.audience],
    [],
  ];
  for (const aud of audiences) expect([aud, (await exchange({ aud })).status]).toEqual([aud, 400]);
  // Nothing names the organisation, so nothing is recorded there.
  expect(await readEvents()).toHaveLength(before);
  // Another organisation has no rule.
  expect((await exchange({ aud: other.audience })).status).toBe(400);
  expect((await readEvents(other.path))[0]).toMatchObject({
    type: "token-exchange-refused",
    reason: "no-rule-for-issuer",
  });
  for (const aud of [acme.audience, [acme.audience], owner.audience])
    expect((await exchange({ aud })).status).toBe(200);
});

test("a token of the organisation's rule is worth nothing in the account of whoever created the rule", async () => {
  await createRule({ vault_ids: null, scopes: ["vaults:read"] });
  const { access_token: token } = await exchange();
  const listed = await fixture.keep.request("/api/secrets/vaults", { token: token ?? "" });
  expect(await listed.json()).toMatchObject([{ id: vault }]);
});

test("only owners manage the rules of an organisation, at its own routes", async () => {
  const rule = await createRule();
  const path = `${rules()}/${rule.id}`;
  const requests: readonly Request[] = [
    ["GET", rules()],
    ["POST", rules(), ruleBody()],
    ["POST", `${rules()}/preview`, ruleBody()],
    ["GET", path],
    ["PATCH", path, { name: "Taken" }],
    ["GET", `${path}/attempts`],
    ["DELETE", path],
  ];
  for (const [role, status] of [
    ["member", 403],
    ["auditor", 403],
  ] as const) {
    const person = await addMember(role);
    for (const request of requests) expect((await send(person, ...request)).status).toBe(status);
  }
  const outsider = await fixture.addOwner();
  for (const request of requests) expect((await send(outsider, ...request)).status).toBe(404);
  // Not in the personal account of an owner either, nor in another organisation of theirs.
  const other = await createOrganisation(owner);
  for (const elsewhere of ["/api/secrets/trust-rules", `${other.path}/trust-rules`])
    for (const request of [["GET"], ["PATCH", { name: "Taken" }], ["DELETE"]] as const)
      expect((await send(owner, request[0], `${elsewhere}/${rule.id}`, request[1])).status).toBe(404);
  const second = await addMember("owner");
  for (const [method, address, body] of requests.filter(([, , sent]) => sent !== requests[1]?.[2]))
    expect((await send(second, method, address, body)).status).toBeLessThan(300);
});

test("a removed owner manages no rules, and those that they created go on", async () => {
  const second = await addMember("owner");
  const rule = await createRule({ vault_ids: null, scopes: ["vaults:read"] }, second);
  const issued = await exchange();
  const path = `${rules()}/${rule.id}`;
  expect((await send(second, "GET", path)).status).toBe(200);
  await succeed(owner, "PATCH", `${acme.path}/members/${second.accountId}`, { role: "member" });
  expect((await send(second, "PATCH", path, { name: "Mine" })).status).toBe(403);
  await succeed(owner, "DELETE", `${acme.path}/members/${second.accountId}`);
  expect((await send(second, "DELETE", path)).status).toBe(404);
  expect([await listVaults(issued.access_token), await listVaults((await exchange()).access_token)]).toEqual([
    200, 200,
  ]);
  await succeed(owner, "DELETE", path);
  expect((await exchange()).status).toBe(400);
  await expect.poll(() => listVaults(issued.access_token)).toBe(401);
});

test("a rule grants no more than whoever creates it could grant with a token of the organisation", async () => {
  const second = await addMember("owner");
  const attempts: readonly (readonly [grant: object, byManager: number, byOther: number])[] = [
    [{ scopes: ["secrets:read"] }, 201, 403],
    [{ scopes: ["secrets:read"], paths: ["/prod/**"] }, 201, 403],
    [{ scopes: ["secrets:write", "secrets:destroy", "audit:read"] }, 201, 403],
    [{ scopes: ["secrets:read"], vault_ids: null }, 403, 403],
    [{ scopes: ["secrets:read"], vault_ids: null, paths: ["/prod/**"] }, 403, 403],
    [{ scopes: ["vaults:write", "audit:read"], vault_ids: null }, 201, 201],
  ];
  for (const [grant, byManager, byOther] of attempts)
    for (const [person, status] of [
      [owner, byManager],
      [second, byOther],
    ] as const) {
      const created = await send(person, "POST", rules(), ruleBody(grant));
      const code = status === 403 ? "out_of_reach" : undefined;
      expect([grant, created.status, created.body.code]).toEqual([grant, status, code]);
      // A token is refused or created alike.
      expect((await send(person, "POST", `${acme.path}/tokens`, tokenOf(grant))).status).toBe(status);
    }
});

test("nobody points a rule at their own workload that grants more than they could", async () => {
  const second = await addMember("owner");
  const { id } = await createRule();
  const path = `${rules()}/${id}`;
  const conditions = safeConditions.github.map((condition) =>
    condition.claim === "repository_id" ? { ...condition, values: ["666"] } : condition,
  );
  for (const change of [
    { conditions },
    { issuer: "https://elsewhere.example" },
    { lifetime_seconds: 3600 },
    { paths: ["/prod/**"] },
    { name: "Renamed", scopes: ["secrets:read", "secrets:write"] },
  ])
    expect((await send(second, "PATCH", path, change)).body).toMatchObject({ code: "out_of_reach" });
  expect((await send(second, "PATCH", path, { name: "Renamed" })).status).toBe(200);
  expect((await send(second, "PATCH", path, { scopes: ["vaults:write"] })).status).toBe(200);
  expect((await send(owner, "PATCH", path, { ...ruleBody(), conditions })).status).toBe(200);
  expect((await exchange()).status).toBe(400);
  expect((await exchange({ repository_id: "666" })).status).toBe(200);
  expect((await send(second, "DELETE", path)).status).toBe(204);
});

test("creating and changing a rule needs a recent sign-in, and ending one does not", async () => {
  const { id } = await createRule();
  const stale = { browser: createFakeBrowser(fixture.keep) };
  const session = await addSession(fixture.keep, owner, "1 hour");
  stale.browser.cookies.set("__Host-session", session.text);
  const tooOld = { status: 403, body: { code: "fresh_sign_in_required" } };
  expect(await send(stale, "POST", rules(), ruleBody())).toMatchObject(tooOld);
  expect(await send(stale, "PATCH", `${rules()}/${id}`, { name: "Renamed" })).toMatchObject(tooOld);
  expect((await send(stale, "DELETE", `${rules()}/${id}`)).status).toBe(204);
});

test("a changed rule ends its tokens on every node, and a suspended organisation exchanges nothing", async () => {
  const { id } = await createRule();
  await using other = await fixture.addNode();
  const first = (await exchange()).access_token;
  const onBoth = async (token: string | undefined) => [
    await read(token),
    await read(token, "prod/KEY", other),
  ];
  expect(await onBoth(first)).toEqual([200, 200]);
  await succeed(owner, "PATCH", `${rules()}/${id}`, { lifetime_seconds: 60 });
  await expect.poll(() => onBoth(first)).toEqual([401, 401]);
  const second = (await exchange()).access_token;
  expect(await onBoth(second)).toEqual([200, 200]);
  const change = { accountId: acme.id, operator: owner.accountId };
  const { database, services } = fixture.keep;
  await database.inAccount(acme.id, (transaction) => suspendAccount(transaction, change, services));
  expect((await exchange()).status).toBe(400);
  await expect.poll(() => onBoth(second)).toEqual([401, 401]);
  await database.inAccount(acme.id, (transaction) => resumeAccount(transaction, change, services));
  expect((await exchange()).status).toBe(200);
});

test("a rule that was moved to an organisation, or an account that became one, accepts nothing", async () => {
  const personal = await fixture.createRule(owner, "github");
  const runSql = (text: string, values: readonly unknown[]) =>
    asSuperuser(fixture.keep.databaseUrl, (superuser) => superuser.query(text, [...values]));
  const move = "UPDATE trust_rule SET account_id = $2 WHERE id = $1";
  await runSql(move, [personal.id, acme.id]);
  expect((await exchange()).status).toBe(400);
  await runSql(move, [personal.id, owner.accountId]);
  const aud = `https://keep.example/organisations/${owner.accountId}`;
  const setKind = "UPDATE account SET kind = $2 WHERE account_id = $1";
  await runSql(setKind, [owner.accountId, "organisation"]);
  expect((await exchange({ aud })).status).toBe(400);
  await runSql(setKind, [owner.accountId, "person"]);
  expect((await exchange({ aud })).status).toBe(400);
  expect((await exchange({ aud: owner.audience })).status).toBe(200);
});

test("a change that a rule's token proposes is approved by somebody else than who created the rule", async () => {
  const second = await addMember("owner");
  const grants = `/api/secrets/vaults/${vault}/grants`;
  const holder = { type: "person", id: second.accountId };
  await succeed(owner, "POST", grants, { holder, role: "manager" });
  await succeed(owner, "PATCH", `/api/secrets/vaults/${vault}`, { protected_paths: ["/prod/**"] });
  await createRule({ scopes: ["secrets:read", "secrets:write"] });
  const { access_token: token } = await exchange();
  const changes = `/api/secrets/vaults/${vault}/changes`;
  const proposed = await fixture.keep.request(changes, {
    method: "POST",
    token: token ?? "",
    body: { reason: "Deploy", operations: [{ op: "put", path: "/prod/KEY", value: "new" }] },
  });
  expect(proposed.status).toBe(201);
  // The contract's change.
  const { id, fingerprint } = (await proposed.json()) as { id: string; fingerprint: string };
  const approve = (by: Owner) => send(by, "POST", `${changes}/${id}/approve`, { fingerprint });
  expect(await approve(owner)).toMatchObject({ status: 403, body: { code: "second_person_required" } });
  expect((await approve(second)).status).toBeLessThan(300);
});
