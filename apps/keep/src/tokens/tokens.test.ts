import { recordFigure } from "@hearth-and-keep/figures";
import { issuedToken, scopeNames, tokenPage } from "@hearth-and-keep/vault-contract";
import { Check } from "typebox/value";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { makeId } from "../make-id.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";

const tokensUrl = "/api/secrets/tokens";

type Answered = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

async function send(keep: TestKeep, path: string, asked: Parameters<TestKeep["ask"]>[1]): Promise<Answered> {
  const response = await keep.ask(path, asked);
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

let keep: TestKeep;

beforeAll(async () => {
  keep = await startTestKeep({ settings: { writesPerMinute: "100000" } });
});
afterAll(() => keep[Symbol.asyncDispose]());

/** A person of their own, their token that may do everything, and ways to ask with it. */
async function addMinter() {
  const person = await keep.addPerson();
  const minter = await keep.addToken(person, { scopes });
  const mint = (body: object, headers: Record<string, string> = {}, token = minter.text) =>
    send(keep, tokensUrl, { method: "POST", token, body, headers });
  const state = (token: unknown, path = "/api/secrets/vaults") =>
    keep.ask(path, { token: String(token) }).then(({ status }) => status);
  return { person, minter, mint, state };
}

test("the contract's list of scopes is the program's", () => {
  expect(scopeNames).toEqual(scopes);
});

test("a token is made, works, and its value is in the answer that made it and in no other", async () => {
  const { minter, mint, state } = await addMinter();
  const headers = { "idempotency-key": "once" };
  const made = await mint({ name: "deploy", scopes: ["vaults:read", "tokens:read"] }, headers);
  expect(made.status).toBe(201);
  expect(Check(issuedToken, made.body)).toBe(true);
  const value = String(made.body["value"]);
  expect(await state(value)).toBe(200);
  const again = await mint({ name: "deploy", scopes: ["vaults:read", "tokens:read"] }, headers);
  expect([again.status, again.body["code"]]).toEqual([409, "token_already_issued"]);
  expect(again.body["detail"]).toContain(String(made.body["id"]));
  const id = String(made.body["id"]);
  const later = await Promise.all([
    keep.ask(tokensUrl, { token: minter.text }),
    keep.ask(`${tokensUrl}/${id}`, { token: minter.text }),
    keep.ask(`${tokensUrl}/self`, { token: value }),
    keep.ask(`${tokensUrl}/${id}`, { method: "PATCH", token: minter.text, body: { name: "other" } }),
  ]);
  expect(later.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const response of later) {
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.text()).not.toContain(value);
  }
  expect(JSON.stringify(again.body)).not.toContain(value);
});

test("tokens are listed page by page, those that hold apart from those that were revoked", async () => {
  const { minter, mint } = await addMinter();
  for (const name of ["one", "two", "three"]) await mint({ name, scopes: ["vaults:read"] });
  const names: unknown[] = [];
  let cursor = "";
  for (let page = 0; page < 2; page += 1) {
    const answer = await send(keep, `${tokensUrl}?limit=2${cursor}`, { token: minter.text });
    expect(Check(tokenPage, answer.body)).toBe(true);
    // The schema above says so.
    const { items, next_cursor } = answer.body as { items: { name: string }[]; next_cursor?: string };
    names.push(...items.map(({ name }) => name));
    cursor = `&cursor=${next_cursor}`;
  }
  expect(names).toEqual(["test", "one", "two", "three"]);
  const revoked = await send(keep, `${tokensUrl}?state=revoked`, { token: minter.text });
  expect(revoked.body["items"]).toEqual([]);
});

test.each([
  ["no scope", { scopes: [] }, 422],
  ["a scope that is none", { scopes: ["secrets:*"] }, 422],
  ["a vault that is not there", { vault_ids: [makeId()] }, 422],
  ["an empty list of vaults", { vault_ids: [] }, 422],
  ["a path that is no pattern", { paths: ["prod/**"] }, 422],
  ["a path with ** in its middle", { paths: ["/**/x"] }, 422],
  ["an address that is none", { addresses: ["10.0.0.0/33"] }, 422],
  ["an end in the past", { expires_at: "2020-01-01T00:00:00Z" }, 422],
  ["an end too far ahead", { expires_at: "2199-01-01T00:00:00Z" }, 422],
  ["a second that does not exist", { expires_at: "2030-01-01T00:00:61Z" }, 422],
  ["no name", { name: "" }, 422],
  ["a field that is none", { owner: "me" }, 422],
  ["all limits at once", { paths: ["/prod/**"], addresses: ["127.0.0.0/8", "::1"] }, 201],
  ["limits that are null", { vault_ids: null, paths: null, addresses: null, expires_at: null }, 201],
])("a wish for a token with %s is answered with its status", async (_name, wish, status) => {
  const { mint } = await addMinter();
  const answer = await mint({ name: "token", scopes: ["vaults:read"], ...wish });
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
});

test("an account has at most 100 tokens that hold; one that ends makes room", async () => {
  const { person, minter, mint } = await addMinter();
  for (let made = 1; made < 99; made += 1) await keep.addToken(person, { scopes: ["vaults:read"] });
  const last = await mint({ name: "last", scopes: ["vaults:read"] });
  expect(last.status).toBe(201);
  const over = await mint({ name: "over", scopes: ["vaults:read"] });
  expect([over.status, over.body["code"]]).toEqual([409, "quota_exceeded"]);
  await keep.ask(`${tokensUrl}/${String(last.body["id"])}`, { method: "DELETE", token: minter.text });
  expect((await mint({ name: "again", scopes: ["vaults:read"] })).status).toBe(201);
});

test("a rotated token keeps its id; the old value holds until its grace is over and not longer", async () => {
  const { minter, mint, state } = await addMinter();
  const made = await mint({ name: "token", scopes: ["vaults:read"] });
  const rotate = (grace_seconds: number) =>
    send(keep, `${tokensUrl}/${String(made.body["id"])}/rotate`, {
      method: "POST",
      token: minter.text,
      body: { grace_seconds },
    });
  expect(await state(made.body["value"])).toBe(200);
  const second = await rotate(1);
  expect([second.status, second.body["id"]]).toEqual([200, made.body["id"]]);
  expect(await Promise.all([made, second].map(({ body }) => state(body["value"])))).toEqual([200, 200]);
  await new Promise((resolve) => setTimeout(resolve, 1300));
  expect(await Promise.all([made, second].map(({ body }) => state(body["value"])))).toEqual([401, 200]);
  const third = await rotate(0);
  await expect.poll(() => state(second.body["value"]), { timeout: 1000 }).toBe(401);
  expect(await state(third.body["value"])).toBe(200);
  expect((await rotate(86_401)).status).toBe(422);
});

test("a revoked token takes those made with it along, and one that waits for all nodes is followed by no success", async () => {
  const { minter, mint, state } = await addMinter();
  const parent = await mint({ name: "parent", scopes: ["tokens:write", "vaults:read"] });
  const child = await mint(
    { name: "child", scopes: ["tokens:write", "vaults:read"] },
    {},
    String(parent.body["value"]),
  );
  const grandchild = await mint(
    { name: "grandchild", scopes: ["vaults:read"] },
    {},
    String(child.body["value"]),
  );
  const other = await mint({ name: "other", scopes: ["vaults:read"] });
  const family = [parent, child, grandchild, other].map(({ body }) => body);
  const states = () => Promise.all(family.map(({ value }) => state(value)));
  expect(await states()).toEqual([200, 200, 200, 200]);
  const url = `${tokensUrl}/${String(parent.body["id"])}?wait=all`;
  expect((await send(keep, url, { method: "DELETE", token: minter.text })).status).toBe(204);
  expect(await states()).toEqual([401, 401, 401, 200]);
  const rows = await Promise.all(
    family.map(({ id }) => send(keep, `${tokensUrl}/${String(id)}`, { token: minter.text })),
  );
  expect(rows.map(({ body }) => body["revoke_reason"])).toEqual([
    "asked",
    "parent-revoked",
    "parent-revoked",
    null,
  ]);
  expect((await send(keep, url, { method: "DELETE", token: minter.text })).status).toBe(204);
});

test("a token rotates itself and those it made, and no other, whatever it may do", async () => {
  const { person, minter, mint } = await addMinter();
  const stranger = await keep.addToken(person, { scopes: ["vaults:read"] });
  const child = await mint({ name: "child", scopes: ["vaults:read"] });
  const rotate = (id: unknown, token: string) =>
    send(keep, `${tokensUrl}/${String(id)}/rotate`, { method: "POST", token, body: {} });
  const refused = await rotate(stranger.id, minter.text);
  expect([refused.status, refused.body["code"]]).toEqual([403, "out_of_reach"]);
  expect((await rotate(child.body["id"], minter.text)).status).toBe(200);
  expect((await rotate(minter.id, minter.text)).status).toBe(200);
});

test("another account's token, a missing one and a text that is no id look the same", async () => {
  const { minter } = await addMinter();
  const foreign = await keep.addToken(await keep.addPerson(), { scopes });
  for (const [method, suffix, body] of [
    ["GET", "", undefined],
    ["PATCH", "", { name: "x" }],
    ["DELETE", "", undefined],
    ["POST", "/rotate", {}],
  ] as const) {
    const answers = await Promise.all(
      [foreign.id, makeId(), "no-id", "%00"].map((id) =>
        send(keep, `${tokensUrl}/${id}${suffix}`, { method, token: minter.text, ...(body ? { body } : {}) }),
      ),
    );
    const plain = answers.map((answer) => ({ ...answer, body: { ...answer.body, request_id: "" } }));
    expect(plain[0]?.status, method).toBe(404);
    expect(new Set(plain.map((one) => JSON.stringify(one))).size, method).toBe(1);
  }
  expect((await keep.ask("/api/secrets/vaults", { token: foreign.text })).status).toBe(200);
});

test("whoever finds a token ends it; what is no token, unknown or ended before changes nothing", async () => {
  const { person, minter, mint, state } = await addMinter();
  const leaked = await mint({ name: "leaked", scopes: ["vaults:read"] });
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
    text: `a token that a finder reported was refused ${Math.round(performance.now() - reportedAt)} ms after the answer`,
    counted: { reached: 1, needed: 1 },
  });
  expect(await report([value])).toEqual({ status: 200, body: { checked: 1, revoked: 0 } });
  expect(await state(minter.text)).toBe(200);
  const row = await send(keep, `${tokensUrl}/${String(leaked.body["id"])}`, { token: minter.text });
  expect(row.body["revoke_reason"]).toBe("leaked");
  const events = await keep.database.askInAccount<{ body: string }>(person.accountId, {
    text: "SELECT body FROM audit_event WHERE account_id = entered.account::uuid AND chain_id = account_id AND body LIKE '%token-revoked%'",
  });
  expect(events.map(({ body }) => JSON.parse(body))).toEqual([
    expect.objectContaining({ reason: "leaked", token: leaked.body["id"] }),
  ]);
  expect((await report(Array.from({ length: 101 }, () => "x"))).status).toBe(422);
});

test("when and from where a token was last used is written down, at the latest at the end", async () => {
  const person = await keep.addPerson();
  const token = await keep.addToken(person, { scopes: ["tokens:read"] });
  const second = await startTestKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
  expect((await second.ask(`${tokensUrl}/self`, { token: token.text })).status).toBe(200);
  await second[Symbol.asyncDispose]();
  const { body } = await send(keep, `${tokensUrl}/self`, { token: token.text });
  expect(body["last_used_address"]).toBe("127.0.0.1");
  expect(Math.abs(Date.parse(String(body["last_used_at"])) - Date.now())).toBeLessThan(60_000);
});
