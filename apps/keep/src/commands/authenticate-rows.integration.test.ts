import { Hidden } from "@hearth-and-keep/logging";
import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { applyMigrations } from "../database/apply-migrations.ts";
import { openPool } from "../database/open-pool.ts";
import { readMigrations } from "../database/read-migrations.ts";
import { generateKeyText, readKeys } from "../keys/key-encryption-key.ts";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import { startKeepWithProviders } from "../test/start-keep-with-providers.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import { authenticateRows } from "./authenticate-rows.ts";

/** As before there were MACs; also what an attacker would do, to have forged rows signed. */
async function removeMacs({ databaseUrl }: TestKeep): Promise<void> {
  await asSuperuser(databaseUrl, async (superuser) => {
    await superuser.query("DELETE FROM server_key WHERE purpose = 'integrity'");
    for (const table of ["account", "api_token", "token_route", "identity", "session"])
      await superuser.query(`UPDATE ${table} SET mac = NULL`);
    await superuser.query("UPDATE vault SET head = NULL");
  });
}

function run({ database, key }: TestKeep, lines: string[] = []): Promise<void> {
  const wrapper = readKeys(new Hidden(key));
  return authenticateRows({ database, wrapper, print: (line) => lines.push(line) });
}

test("a database without authenticated rows is not served until an operator has authenticated them", async () => {
  await using keep = await startUnlimitedKeep();
  const vault = await openVault(keep);
  await vault.write("/KEY", "kept");
  const { databaseUrl, key } = keep;
  const start = () => startUnlimitedKeep({ databaseUrl, key });
  await removeMacs(keep);
  await expect(start()).rejects.toMatchObject({ failure: { kind: "rows-not-authenticated" } });
  const lines: string[] = [];
  await run(keep, lines);
  await run(keep, lines);
  expect(lines).toEqual([
    "Authenticated 1 accounts, 1 identities, 1 tokens and 1 vaults as found, and ended all sessions",
    "The rows of this database are already authenticated",
  ]);
  await using upgraded = await start();
  const path = `/api/secrets/vaults/${vault.person.vaultId}/values/by-path/KEY`;
  expect((await upgraded.request(path, { token: vault.token.text })).status).toBe(200);
});

test("identities stay when an operator authenticates the rows, and sessions end", async () => {
  await using fixture = await startKeepWithProviders();
  const before = await fixture.signIn("general", "101");
  const { id } = await before.account();
  await removeMacs(fixture.keep);
  expect(await before.isSignedIn()).toBe(false);
  await run(fixture.keep);
  const node = await fixture.addNode();
  const cookie = `session=${before.cookies.get("session")}`;
  const headers = { cookie, "sec-fetch-site": "same-origin" };
  expect((await node.request("/api/session", { headers })).status).toBe(401);
  expect((await (await fixture.signIn("general", "101", node)).account()).id).toBe(id);
});

test("an older database keeps its identities when it is migrated, loses its sessions, and is not served", async () => {
  await using older = await acquireDatabase({ name: "before authenticated sign-ins", prepare: migrateTo12 });
  const key = generateKeyText();
  await asSuperuser(older.url, async (superuser) => {
    const { fingerprint } = readKeys(new Hidden(key));
    await superuser.query(
      "WITH active AS (INSERT INTO key_encryption_key (fingerprint, status) VALUES ($1, 'active') RETURNING fingerprint) INSERT INTO server_key (purpose, version, kek_fingerprint, wrapped) SELECT 'integrity', 1, fingerprint, '' FROM active",
      [fingerprint],
    );
    await superuser.query(
      "WITH person AS (INSERT INTO account (account_id, display_name) VALUES (gen_random_uuid(), 'P') RETURNING account_id), known AS (INSERT INTO identity (account_id, id, provider, issuer, subject) SELECT account_id, account_id, 'general', 'https://issuer.test', '1' FROM person) INSERT INTO session (account_id, id, session_hash, identity_id, idle_until, absolute_until, address) SELECT account_id, account_id, sha256(''), account_id, now() + interval '1 day', now() + interval '1 day', '::1' FROM person",
    );
  });
  const start = () => startUnlimitedKeep({ databaseUrl: older.url, key });
  await expect(start()).rejects.toMatchObject({ failure: { kind: "rows-not-authenticated" } });
  const { rows } = await asSuperuser(older.url, (superuser) =>
    superuser.query(
      "SELECT (SELECT count(*)::int FROM identity) AS identities, (SELECT count(*)::int FROM session) AS sessions",
    ),
  );
  expect(rows).toEqual([{ identities: 1, sessions: 0 }]);
});

async function migrateTo12(url: string): Promise<void> {
  const pool = openPool(url, { max: 1 });
  try {
    await applyMigrations(pool, (await readMigrations()).slice(0, 12));
  } finally {
    await pool.end();
  }
}
