import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { generateId } from "../generate-id.ts";
import { copyRows } from "../test/copy-rows.ts";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import { generateToken, hashToken } from "./token-format.ts";

let keep: TestKeep;
let superuser: Client;
let victim: OpenedVault;

beforeAll(async () => {
  keep = await startUnlimitedKeep();
  superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  victim = await openVault(keep);
  await victim.write("/KEY", "of the victim");
});
afterAll(async () => {
  await superuser.end();
  await keep[Symbol.asyncDispose]();
});

async function readOn(node: TestKeep, token: string): Promise<number> {
  const path = `/api/secrets/vaults/${victim.person.vaultId}/values/by-path/KEY`;
  return (await node.request(path, { token })).status;
}

/** On a node that has cached nothing. */
async function read(token: string): Promise<number> {
  await using fresh = await startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
  return await readOn(fresh, token);
}

/** The statuses with a valid token, before and after the attacker's change of its rows. */
async function readAround(change: (id: string) => Promise<unknown>): Promise<readonly number[]> {
  const token = await keep.addToken(victim.person, {
    scopes: ["secrets:read"],
    paths: ["/**"],
    expiresAt: new Date(Date.now() + 3_600_000),
  });
  const before = await readOn(keep, token.text);
  await change(token.id);
  return [before, await read(token.text)];
}

test("a token that was inserted into the database is not accepted", async () => {
  const text = generateToken();
  const id = generateId();
  await superuser.query(
    "INSERT INTO api_token (account_id, id, name, token_hash, scopes, created_by) VALUES ($1, $2, 'forged', $3, $4, 'server')",
    [victim.person.accountId, id, hashToken(text), scopes],
  );
  await superuser.query("INSERT INTO token_route (token_hash, account_id, token_id) VALUES ($1, $2, $3)", [
    hashToken(text),
    victim.person.accountId,
    id,
  ]);
  expect(await read(text)).toBe(401);
  // Nor with the MACs of a genuine token.
  await superuser.query(
    "UPDATE api_token SET mac = (SELECT mac FROM api_token WHERE id = $2) WHERE id = $1",
    [id, victim.token.id],
  );
  await superuser.query(
    "UPDATE token_route SET mac = (SELECT mac FROM token_route WHERE token_id = $2) WHERE token_id = $1",
    [id, victim.token.id],
  );
  expect(await read(text)).toBe(401);
  expect(await read(victim.token.text)).toBe(200);
});

test.each([
  ["gets more scopes", "scopes = '{secrets:read,secrets:write}'"],
  ["loses its paths", "paths = NULL"],
  ["gets other paths", "paths = '{/**,/*}'"],
  ["gets vaults", "vault_ids = '{00000000-0000-0000-0000-000000000000}'"],
  ["gets addresses", "addresses = '{0.0.0.0/0}'"],
  ["never expires", "expires_at = NULL"],
  ["expires later", "expires_at = expires_at + interval '1 year'"],
  ["gets another parent", "parent_id = gen_random_uuid()"],
  ["loses its MAC", "mac = NULL"],
])("a token that %s in the database is not accepted", async (_change, assignment) => {
  const change = (id: string) => superuser.query(`UPDATE api_token SET ${assignment} WHERE id = $1`, [id]);
  expect(await readAround(change)).toEqual([200, 401]);
});

test("a new value for a token, or a token of another account behind a known value, is not accepted", async () => {
  const extend = (id: string) =>
    superuser.query("UPDATE token_route SET valid_until = now() + interval '1 year' WHERE token_id = $1", [
      id,
    ]);
  expect(await readAround(extend)).toEqual([200, 401]);
  const attacker = await openVault(keep);
  await superuser.query("UPDATE token_route SET account_id = $2, token_id = $3 WHERE token_hash = $1", [
    hashToken(parse(attacker.token.text)),
    victim.person.accountId,
    victim.token.id,
  ]);
  expect(await read(attacker.token.text)).toBe(401);
});

function parse(text: string) {
  // A token that Keep has just issued.
  return text as ReturnType<typeof generateToken>;
}

const copyOf = (id: string) =>
  copyRows(superuser, [
    { table: "api_token", column: "id", value: id },
    { table: "token_route", column: "token_id", value: id },
  ]);

test.each([
  { end: "revoked", method: "DELETE", path: "", status: 204 },
  { end: "rotated", method: "POST", path: "/rotate", status: 200 },
])(
  "a token value that was $end is not accepted when its rows are put back",
  async ({ method, path, status }) => {
    const token = await keep.addToken(victim.person, { scopes: ["secrets:read", "tokens:write"] });
    const copies = await copyOf(token.id);
    await copies.putBack();
    expect(await read(token.text)).toBe(200);
    const url = `/api/secrets/tokens/${token.id}${path}`;
    const [ended] = await victim.as(token.text).json(method, url, method === "POST" ? {} : undefined);
    expect(ended).toBe(status);
    await copies.putBack();
    expect(await read(token.text)).toBe(401);
    expect(await read(victim.token.text)).toBe(200);
  },
);

test("tokens of a deleted account are not accepted when everything is put back", async () => {
  const gone = await openVault(keep);
  const copies = await copyOf(gone.token.id);
  const { accountId } = gone.person;
  const list = () => keep.request("/api/secrets/vaults", { token: gone.token.text });
  expect((await list()).status).toBe(200);
  await superuser.query(
    "UPDATE account SET status = 'deleted', epoch = epoch + 1, mac = NULL WHERE account_id = $1",
    [accountId],
  );
  await superuser.query("UPDATE account SET status = 'active' WHERE account_id = $1", [accountId]);
  await copies.putBack();
  await using fresh = await startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
  expect((await fresh.request("/api/secrets/vaults", { token: gone.token.text })).status).toBe(401);
});

/** Runs the attacker's SQL within the transactions of the work, as Keep's own role. */
async function withTrigger<Result>(
  { body, event }: { readonly body: string; readonly event: string },
  work: () => Promise<Result>,
): Promise<Result> {
  await superuser.query(
    `CREATE FUNCTION attack() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NULL; END $$`,
  );
  await superuser.query(
    `CREATE TRIGGER attack ${event} FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION attack()`,
  );
  try {
    return await work();
  } finally {
    await superuser.query("DROP FUNCTION attack CASCADE");
  }
}

test("a trigger in the database does not get changed or revoked tokens signed again", async () => {
  const limited = await keep.addToken(victim.person, { scopes: ["secrets:read"], paths: ["/other/**"] });
  const revoked = await keep.addToken(victim.person, { scopes: ["secrets:read"] });
  expect([await read(limited.text), await read(revoked.text)]).toEqual([403, 200]);
  const body = `UPDATE api_token SET paths = NULL WHERE id = '${limited.id}'; UPDATE api_token SET revoked_at = NULL, revoke_reason = NULL WHERE id = '${revoked.id}'`;
  const [status] = await withTrigger({ body, event: "AFTER UPDATE OF revoked_at ON api_token" }, () =>
    victim.json("DELETE", `/api/secrets/tokens/${revoked.id}`),
  );
  expect([status, await read(limited.text), await read(revoked.text)]).toEqual([204, 401, 401]);
  expect(await read(victim.token.text)).toBe(200);
});

test("a trigger in the database does not keep an earlier value of a rotated token valid", async () => {
  const token = await keep.addToken(victim.person, { scopes: ["secrets:read", "tokens:write"] });
  const rotate = (text: string) =>
    victim.as(text).json("POST", `/api/secrets/tokens/${token.id}/rotate`, { grace_seconds: 600 });
  const [, { value }] = await rotate(token.text);
  expect([await read(token.text), await read(value)]).toEqual([200, 200]);
  // Cancels the update of the row.
  const event = "BEFORE UPDATE OF valid_until ON token_route";
  const [status, { value: latest }] = await withTrigger({ body: "NULL", event }, () => rotate(value));
  expect([status, await read(value), await read(latest)]).toEqual([200, 401, 200]);
});
