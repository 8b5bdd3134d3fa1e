import { recordFigure } from "@hearth-and-keep/figures";
import { issuedToken, scopeNames, tokenPage } from "@hearth-and-keep/vault-contract";
import { Check } from "typebox/value";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { generateId } from "../generate-id.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";

const tokensUrl = "/api/secrets/tokens";

type TokenResponse = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

async function send(
  keep: TestKeep,
  path: string,
  options: Parameters<TestKeep["request"]>[1],
): Promise<TokenResponse> {
  const response = await keep.request(path, options);
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

let keep: TestKeep;

beforeAll(async () => {
  keep = await startTestKeep({ settings: { writesPerMinute: "100000" } });
});
afterAll(() => keep[Symbol.asyncDispose]());

/** A new person with a token of every scope, and helpers that use it. */
async function addTokenCreator() {
  const person = await keep.addPerson();
  const creator = await keep.addToken(person, { scopes });
  const create = (body: object, headers: Record<string, string> = {}, token = creator.text) =>
    send(keep, tokensUrl, { method: "POST", token, body, headers });
  const state = (token: unknown, path = "/api/secrets/vaults") =>
    keep.request(path, { token: String(token) }).then(({ status }) => status);
  return { person, creator, create, state };
}

test("the contract and the server have the same scopes", () => {
  expect(scopeNames).toEqual(scopes);
});

test("a created token works, and only the creating response contains its value", async () => {
  const { creator, create, state } = await addTokenCreator();
  const headers = { "idempotency-key": "once" };
  const created = await create({ name: "deploy", scopes: ["vaults:read", "tokens:read"] }, headers);
  expect(created.status).toBe(201);
  expect(Check(issuedToken, created.body)).toBe(true);
  const value = String(created.body["value"]);
  expect(await state(value)).toBe(200);
  const again = await create({ name: "deploy", scopes: ["vaults:read", "tokens:read"] }, headers);
  expect([again.status, again.body["code"]]).toEqual([409, "token_already_issued"]);
  expect(again.body["detail"]).toContain(String(created.body["id"]));
  const id = String(created.body["id"]);
  const later = await Promise.all([
    keep.request(tokensUrl, { token: creator.text }),
    keep.request(`${tokensUrl}/${id}`, { token: creator.text }),
    keep.request(`${tokensUrl}/self`, { token: value }),
    keep.request(`${tokensUrl}/${id}`, { method: "PATCH", token: creator.text, body: { name: "other" } }),
  ]);
  expect(later.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const response of later) {
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.text()).not.toContain(value);
  }
  expect(JSON.stringify(again.body)).not.toContain(value);
});

test("active and revoked tokens are listed separately, in pages", async () => {
  const { creator, create } = await addTokenCreator();
  for (const name of ["one", "two", "three"]) await create({ name, scopes: ["vaults:read"] });
  const names: unknown[] = [];
  let cursor = "";
  for (let page = 0; page < 2; page += 1) {
    const response = await send(keep, `${tokensUrl}?limit=2${cursor}`, { token: creator.text });
    expect(Check(tokenPage, response.body)).toBe(true);
    // Checked against the schema above.
    const { items, next_cursor } = response.body as { items: { name: string }[]; next_cursor?: string };
    names.push(...items.map(({ name }) => name));
    cursor = `&cursor=${next_cursor}`;
  }
  expect(names).toEqual(["test", "one", "two", "three"]);
  const revoked = await send(keep, `${tokensUrl}?state=revoked`, { token: creator.text });
  expect(revoked.body["items"]).toEqual([]);
});

test.each([
  ["no scope", { scopes: [] }, 422],
  ["an unknown scope", { scopes: ["secrets:*"] }, 422],
  ["a missing vault", { vault_ids: [generateId()] }, 422],
  ["an empty list of vaults", { vault_ids: [] }, 422],
  ["an invalid path pattern", { paths: ["prod/**"] }, 422],
  ["a path with ** in the middle", { paths: ["/**/x"] }, 422],
  ["an invalid address range", { addresses: ["10.0.0.0/33"] }, 422],
  ["an expiry in the past", { expires_at: "2020-01-01T00:00:00Z" }, 422],
  ["an expiry too far ahead", { expires_at: "2199-01-01T00:00:00Z" }, 422],
  ["an invalid timestamp", { expires_at: "2030-01-01T00:00:61Z" }, 422],
  ["no name", { name: "" }, 422],
  ["an unknown field", { owner: "me" }, 422],
  ["all restrictions at once", { paths: ["/prod/**"], addresses: ["127.0.0.0/8", "::1"] }, 201],
  ["null restrictions", { vault_ids: null, paths: null, addresses: null, expires_at: null }, 201],
])("creating a token with %s gives the expected status", async (_name, fields, status) => {
  const { create } = await addTokenCreator();
  const response = await create({ name: "token", scopes: ["vaults:read"], ...fields });
  expect(response.status, JSON.stringify(response.body)).toBe(status);
});

const daysOf = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
  (Date.parse(String(body["expires_at"])) - Date.now()) / 86_400_000;

test("a token without an expiry gets the default one, null means never, and no token outlives its creator", async () => {
  const { create } = await addTokenCreator();
  const token = { name: "token", scopes: ["tokens:write"] };
  expect(daysOf(await create(token))).toBeCloseTo(90, 1);
  expect((await create({ ...token, expires_at: null })).body["expires_at"]).toBeNull();
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const parent = await create({ ...token, expires_at: expiresAt });
  const child = { name: "child", scopes: ["tokens:write"] };
  const request = { method: "POST", token: String(parent.body["value"]) };
  expect((await send(keep, tokensUrl, { ...request, body: child })).body["expires_at"]).toBe(expiresAt);
  expect((await send(keep, tokensUrl, { ...request, body: { ...child, expires_at: null } })).status).toBe(
    403,
  );
});

test("an account can have at most 100 active tokens; revoking one frees room", async () => {
  const { person, creator, create } = await addTokenCreator();
  for (let created = 1; created < 99; created += 1) await keep.addToken(person, { scopes: ["vaults:read"] });
  const last = await create({ name: "last", scopes: ["vaults:read"] });
  expect(last.status).toBe(201);
  const over = await create({ name: "over", scopes: ["vaults:read"] });
  expect([over.status, over.body["code"]]).toEqual([409, "quota_exceeded"]);
  await keep.request(`${tokensUrl}/${String(last.body["id"])}`, { method: "DELETE", token: creator.text });
  expect((await create({ name: "again", scopes: ["vaults:read"] })).status).toBe(201);
});

test("a rotated token keeps its id, and the old value expires after the grace period", async () => {
  const { creator, create, state } = await addTokenCreator();
  const created = await create({ name: "token", scopes: ["vaults:read"] });
  const rotate = (grace_seconds: number) =>
    send(keep, `${tokensUrl}/${String(created.body["id"])}/rotate`, {
      method: "POST",
      token: creator.text,
      body: { grace_seconds },
    });
  expect(await state(created.body["value"])).toBe(200);
  const second = await rotate(1);
  expect([second.status, second.body["id"]]).toEqual([200, created.body["id"]]);
  expect(await Promise.all([created, second].map(({ body }) => state(body["value"])))).toEqual([200, 200]);
  await new Promise((resolve) => setTimeout(resolve, 1300));
  expect(await Promise.all([created, second].map(({ body }) => state(body["value"])))).toEqual([401, 200]);
  const third = await rotate(0);
  await expect.poll(() => state(second.body["value"]), { timeout: 1000 }).toBe(401);
  expect(await state(third.body["value"])).toBe(200);
  expect((await rotate(86_401)).status).toBe(422);
});

test("revoking a token revokes its descendants, and with wait=all no later request succeeds", async () => {
  const { creator, create, state } = await addTokenCreator();
  const parent = await create({ name: "parent", scopes: ["tokens:write", "vaults:read"] });
  const child = await create(
    { name: "child", scopes: ["tokens:write", "vaults:read"] },
    {},
    String(parent.body["value"]),
  );
  const grandchild = await create(
    { name: "grandchild", scopes: ["vaults:read"] },
    {},
    String(child.body["value"]),
  );
  const other = await create({ name: "other", scopes: ["vaults:read"] });
  const family = [parent, child, grandchild, other].map(({ body }) => body);
  const states = () => Promise.all(family.map(({ value }) => state(value)));
  expect(await states()).toEqual([200, 200, 200, 200]);
  const url = `${tokensUrl}/${String(parent.body["id"])}?wait=all`;
  expect((await send(keep, url, { method: "DELETE", token: creator.text })).status).toBe(204);
  expect(await states()).toEqual([401, 401, 401, 200]);
  const rows = await Promise.all(
    family.map(({ id }) => send(keep, `${tokensUrl}/${String(id)}`, { token: creator.text })),
  );
  expect(rows.map(({ body }) => body["revoke_reason"])).toEqual([
    "asked",
    "parent-revoked",
    "parent-revoked",
    null,
  ]);
  expect((await send(keep, url, { method: "DELETE", token: creator.text })).status).toBe(204);
});

test("a token can rotate only itself and its descendants, whatever its scopes", async () => {
  const { person, creator, create } = await addTokenCreator();
  const stranger = await keep.addToken(person, { scopes: ["vaults:read"] });
  const child = await create({ name: "child", scopes: ["vaults:read"] });
  const rotate = (id: unknown, token: string) =>
    send(keep, `${tokensUrl}/${String(id)}/rotate`, { method: "POST", token, body: {} });
  const refused = await rotate(stranger.id, creator.text);
  expect([refused.status, refused.body["code"]]).toEqual([403, "out_of_reach"]);
  expect((await rotate(child.body["id"], creator.text)).status).toBe(200);
  expect((await rotate(creator.id, creator.text)).status).toBe(200);
});

test("another account's token, a missing one and an invalid id give the same response", async () => {
  const { creator } = await addTokenCreator();
  const foreign = await keep.addToken(await keep.addPerson(), { scopes });
  for (const [method, suffix, body] of [
    ["GET", "", undefined],
    ["PATCH", "", { name: "x" }],
    ["DELETE", "", undefined],
    ["POST", "/rotate", {}],
  ] as const) {
    const responses = await Promise.all(
      [foreign.id, generateId(), "no-id", "%00"].map((id) =>
        send(keep, `${tokensUrl}/${id}${suffix}`, { method, token: creator.text, ...(body ? { body } : {}) }),
      ),
    );
    const plain = responses.map((response) => ({ ...response, body: { ...response.body, request_id: "" } }));
    expect(plain[0]?.status, method).toBe(404);
    expect(new Set(plain.map((one) => JSON.stringify(one))).size, method).toBe(1);
  }
  expect((await keep.request("/api/secrets/vaults", { token: foreign.text })).status).toBe(200);
});

test("anyone can revoke a token they found; invalid, unknown and revoked tokens change nothing", async () => {
  const { person, creator, create, state } = await addTokenCreator();
  const leaked = await create({ name: "leaked", scopes: ["vaults:read"] });
  const report = (tokens: readonly string[]) =>
    send(keep, `${tokensUrl}/leaked`, { method: "POST", body: { tokens } });
  const value = String(leaked.body["value"]);
  expect(await state(value)).toBe(200);
  expect(await report(["nothing", value, `${value} `])).toEqual({
    status: 200,
    body: { checked: 3, revoked: 1 },
  });
  const reportedAt = performance.now();
  await expect.poll(() => state(value), { timeout: 1000, interval: 10 }).toBe(401);
  recordFigure({
    claim: "keep 9",
    text: `a reported leaked token was refused ${Math.round(performance.now() - reportedAt)} ms after the response`,
    counted: { reached: 1, needed: 1 },
  });
  expect(await report([value])).toEqual({ status: 200, body: { checked: 1, revoked: 0 } });
  expect(await state(creator.text)).toBe(200);
  const row = await send(keep, `${tokensUrl}/${String(leaked.body["id"])}`, { token: creator.text });
  expect(row.body["revoke_reason"]).toBe("leaked");
  const events = await keep.database.queryInAccount<{ body: string }>(person.accountId, {
    text: "SELECT body FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = account_id AND body LIKE '%token-revoked%'",
  });
  expect(events.map(({ body }) => JSON.parse(body))).toEqual([
    expect.objectContaining({ reason: "leaked", token: leaked.body["id"] }),
  ]);
  expect((await report(Array.from({ length: 101 }, () => "x"))).status).toBe(422);
});

test("the last use of a token is stored at shutdown at the latest", async () => {
  const person = await keep.addPerson();
  const token = await keep.addToken(person, { scopes: ["tokens:read"] });
  const second = await startTestKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
  expect((await second.request(`${tokensUrl}/self`, { token: token.text })).status).toBe(200);
  await second[Symbol.asyncDispose]();
  const { body } = await send(keep, `${tokensUrl}/self`, { token: token.text });
  expect(body["last_used_address"]).toBe("127.0.0.1");
  expect(Math.abs(Date.parse(String(body["last_used_at"])) - Date.now())).toBeLessThan(60_000);
});
