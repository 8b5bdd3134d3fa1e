import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import { addMemberToken, addTeam, createVault } from "./test/shared-vault.ts";
import { addTeammate, createTeam, invite, join } from "./test/start-team.ts";

let keep: TestKeep;
/** Ids of two organisations, each with rows in every table that it can have rows in. */
let own: string;
let other: string;
beforeAll(async () => {
  keep = await startTestKeep({ settings: { readsPerMinute: "1000000", writesPerMinute: "1000000" } });
  own = await addFilledOrganisation();
  other = await addFilledOrganisation();
});
afterAll(() => keep[Symbol.asyncDispose]());

async function addFilledOrganisation(): Promise<string> {
  const [owner, member] = [await addTeammate(keep), await addTeammate(keep)];
  const team = await createTeam(owner);
  await join(owner, team, [member, "member"]);
  await invite(owner, team, { role: "member" });
  const accountId = team.split("/").at(-1) ?? "";
  const { id: tokenId, text: token } = await keep.addToken(
    { accountId },
    { scopes: ["vaults:write", "secrets:write", "secrets:read", "keys:rotate"] },
  );
  // A token that nobody is known to have created cannot propose a change.
  await keep.database.inAccount(accountId, (transaction) =>
    transaction.query({
      text: "UPDATE api_token SET created_by = $2 WHERE id = $1",
      values: [tokenId, `person:${owner.accountId}`],
    }),
  );
  const send = async (method: string, path: string, body?: object): Promise<{ readonly id: string }> => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const request = { method, token, headers, ...(body === undefined ? {} : { body }) };
    const response = await keep.request(`/api/secrets/vaults${path}`, request);
    if (!response.ok) throw new Error(`Cannot fill: ${path} returned ${response.status}`);
    // Those whose id is used have one.
    return (await response.json()) as { readonly id: string };
  };
  const { id: vault } = await send("POST", "", { name: "Project" });
  await send("PUT", `/${vault}/secrets/by-path/app/KEY`, { value: "secret" });
  await send("POST", `/${vault}/folders`, { path: "/empty" });
  await send("GET", `/${vault}/values/by-path/app/KEY`);
  const operations = [{ op: "put", path: "/app/KEY", value: "proposed" }];
  await send("POST", `/${vault}/changes`, { reason: "Waits", operations });
  await send("POST", `/${vault}/rotate-key`);
  await createVault(member, team);
  await addTeam(owner, team, [member]);
  await addMemberToken(member, team, { scopes: ["secrets:read"] });
  return accountId;
}

type Table = { readonly name: string; readonly isGuarded: boolean; readonly others: number };

/** Every table with rows of accounts, and how many rows of the other organisation it has, as a superuser sees them. */
function listTables(): Promise<readonly Table[]> {
  return asSuperuser(keep.databaseUrl, async (superuser) => {
    const { rows } = await superuser.query<{ name: string; isGuarded: boolean }>(
      `SELECT relname AS name, relrowsecurity AS "isGuarded" FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'account_id' WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace ORDER BY relname`,
    );
    const tables: Table[] = [];
    for (const row of rows) {
      const counted = await superuser.query<{ others: number }>(
        `SELECT count(*)::integer AS others FROM ${row.name} WHERE account_id = $1`,
        [other],
      );
      tables.push({ ...row, others: counted.rows[0]?.others ?? 0 });
    }
    return tables;
  });
}

/** As the application's role in one account, without any check of the application. */
function runInAccount(accountId: string, text: string, values: readonly unknown[] = []) {
  return keep.database.inAccount(accountId, (transaction) =>
    transaction.query({ text, values: [...values] }),
  );
}

/** How many rows the statement returned, or that it was refused. */
async function attempt(text: string, values: readonly unknown[] = []): Promise<number | "refused"> {
  try {
    return (await runInAccount(own, text, values)).length;
  } catch (error) {
    const isRefused =
      error instanceof Error && /permission denied|row-level security policy/u.test(error.message);
    if (!isRefused) throw error;
    return "refused";
  }
}

test("in one organisation, no table has a row of another one, whatever the statement asks for", async () => {
  // Records and counts of the log are appended in the background.
  await expect
    .poll(async () => (await listTables()).find(({ name }) => name === "audit_stream")?.others, {
      timeout: 20_000,
    })
    .toBeGreaterThan(0);
  const tables = await listTables();
  const guarded = tables.filter(({ isGuarded }) => isGuarded);
  for (const { name } of guarded) {
    expect([name, await attempt(`SELECT FROM ${name} WHERE account_id <> $1`, [own])]).toEqual([name, 0]);
    expect([name, await attempt(`SELECT FROM ${name} WHERE account_id = $1`, [other])]).toEqual([name, 0]);
    for (const statement of [`UPDATE ${name} SET account_id = $1`, `DELETE FROM ${name}`]) {
      const changed = await attempt(
        `${statement} WHERE account_id = $2 AND $1::uuid IS NOT NULL RETURNING 1`,
        [own, other],
      );
      expect([name, [0, "refused"].includes(changed)]).toEqual([name, true]);
    }
    expect([name, await runInAccount("00000000-0000-0000-0000-000000000000", `SELECT FROM ${name}`)]).toEqual(
      [name, []],
    );
  }
  const filled = guarded.filter(({ others }) => others > 0).map(({ name }) => name);
  expect(filled).toEqual(
    expect.arrayContaining([
      "account",
      "api_token",
      "audit_record",
      "audit_stream",
      "folder",
      "idempotent_answer",
      "invitation",
      "member",
      "operation",
      "proposed_change",
      "secret",
      "secret_version",
      "team",
      "vault",
      "vault_access",
      "vault_key",
    ]),
  );
  // The same statement in the other organisation finds its rows.
  for (const name of filled)
    expect((await runInAccount(other, `SELECT FROM ${name}`)).length, name).toBeGreaterThan(0);
  recordFigure({
    claim: "teams 2",
    text: `no row of another organisation in ${guarded.length} tables, of which ${filled.length} had rows of it`,
    counted: { reached: filled.length, needed: 16 },
  });
});

test("only tables that find an account have no row-level security", async () => {
  const names = (await listTables()).filter(({ isGuarded }) => !isGuarded).map(({ name }) => name);
  expect(names).toEqual([
    "command_line_login",
    "identity_route",
    "member_route",
    "revocation",
    "session_route",
    "sign_in_attempt",
    "token_route",
    "vault_route",
  ]);
});

test("a member, an invitation, a team, grants or a token cannot be added to another organisation", async () => {
  const ids = [crypto.randomUUID(), other];
  const insertMember =
    "INSERT INTO member (person_id, account_id, role) VALUES ($1, $2, 'owner') RETURNING 1";
  const insertInvitation =
    "INSERT INTO invitation (id, account_id, secret_hash, role, invited_by, expires_at) VALUES ($1, $2, sha256('x'), 'owner', $1, now()) RETURNING 1";
  expect(await attempt(insertMember, ids)).toBe("refused");
  const insertTeam = "INSERT INTO team (id, account_id, name) VALUES ($1, $2, 'Operations') RETURNING 1";
  const insertGrants =
    "INSERT INTO vault_access (vault_id, account_id, grants) VALUES ($1, $2, '[]') RETURNING 1";
  const insertToken =
    "INSERT INTO api_token (id, account_id, owner_id, name, token_hash, scopes, created_by) VALUES ($1, $2, $1, 'token', sha256('x'), '{vaults:read}', 'server') RETURNING 1";
  expect(await attempt(insertInvitation, ids)).toBe("refused");
  for (const text of [insertTeam, insertGrants, insertToken]) {
    expect(await attempt(text, ids)).toBe("refused");
    expect(await attempt(text, [crypto.randomUUID(), own])).toBe(1);
  }
});
