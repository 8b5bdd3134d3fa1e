/**
 * @module
 * Fixtures for tests that tamper with rows: accounts with two vaults and secrets with several versions, a second account
 * for each, and copies of all tables in an earlier state, to roll rows back to.
 * Imported by tests only.
 */
import { Client } from "pg";
import { expect } from "vitest";
import { reencryptSecret } from "../../secrets/reencrypt-secret.ts";
import { readJson } from "../../test/read-json.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { destroyRetiredKeys } from "../rotation/queries.ts";

export type TamperFixture = {
  readonly accountId: string;
  readonly token: string;
  readonly vaultId: string;
  readonly otherVaultId: string;
  readonly strangersVaultId: string;
  /** Has three versions, the first one destroyed, and a note. */
  readonly secret: string;
  readonly sibling: string;
  readonly deleted: string;
  readonly inOtherVault: string;
  readonly strangers: string;
  /** Values of the secret's second and third version. */
  readonly second: string;
  readonly third: string;
};

const tables = ["secret", "secret_version", "vault", "vault_key", "audit_record"] as const;

export async function createTamperFixtures(keep: TestKeep, count: number): Promise<readonly TamperFixture[]> {
  const fixtures: TamperFixture[] = [];
  for (let number = 0; number < count; number += 1) fixtures.push(await createFixture(keep, number));
  await copyTables(keep.databaseUrl, "earlier");
  for (const fixture of fixtures) await changeFixture(keep, fixture);
  await copyTables(keep.databaseUrl, "true");
  return fixtures;
}

async function copyTables(url: string, name: string): Promise<void> {
  await asSuperuser(url, async (superuser) => {
    for (const table of tables) await superuser.query(`CREATE TABLE ${name}_${table} AS TABLE ${table}`);
  });
}

/** Restores all tables to the state after the fixtures were created. */
export async function restoreTables(superuser: Client): Promise<void> {
  for (const table of tables) {
    await superuser.query(`DELETE FROM ${table}`);
    await superuser.query(`INSERT INTO ${table} TABLE true_${table}`);
  }
}

export async function asSuperuser<Result>(
  url: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

type WriteTarget = { readonly token: string; readonly vaultId: string };

async function write(
  keep: TestKeep,
  { token, vaultId }: WriteTarget,
  [path, value]: readonly [string, string],
): Promise<string> {
  const body = { value, note: `about ${value}` };
  const response = await keep.request(`/api/secrets/vaults/${vaultId}/secrets/by-path${path}`, {
    method: "PUT",
    token,
    body,
  });
  expect([200, 201]).toContain(response.status);
  return (await readJson<{ id: string }>(response)).id;
}

const allScopes = [
  "secrets:read",
  "secrets:write",
  "secrets:delete",
  "secrets:destroy",
  "vaults:write",
  "audit:read",
] as const;

async function createFixture(keep: TestKeep, number: number): Promise<TamperFixture> {
  const [owner, stranger] = [await keep.addPerson(), await keep.addPerson()];
  const { text: token } = await keep.addToken(owner, { scopes: [...allScopes] });
  const { text: strangersToken } = await keep.addToken(stranger, { scopes: [...allScopes] });
  const created = await keep.request("/api/secrets/vaults", {
    method: "POST",
    token,
    body: { name: "Other" },
  });
  const { id: otherVaultId } = await readJson<{ id: string }>(created);
  const { vaultId } = owner;
  const inVault = { token, vaultId };
  const [second, third] = [`second value ${number}`, `third value ${number}`];
  const secret = await write(keep, inVault, ["/a/KEY", `first value ${number}`]);
  await write(keep, inVault, ["/a/KEY", second]);
  return {
    accountId: owner.accountId,
    token,
    vaultId,
    otherVaultId,
    strangersVaultId: stranger.vaultId,
    secret,
    sibling: await write(keep, inVault, ["/a/SIBLING", `sibling value ${number}`]),
    deleted: await write(keep, inVault, ["/a/DELETED", `deleted value ${number}`]),
    inOtherVault: await write(keep, { token, vaultId: otherVaultId }, ["/a/KEY", `other value ${number}`]),
    strangers: await write(keep, { token: strangersToken, vaultId: stranger.vaultId }, [
      "/a/KEY",
      `stranger's value ${number}`,
    ]),
    second,
    third,
  };
}

/** Rotates the data key, adds the third version, destroys the first one and deletes a secret. */
async function changeFixture(keep: TestKeep, fixture: TamperFixture): Promise<void> {
  const { token, vaultId, accountId } = fixture;
  const vaultRef = { accountId, vaultId };
  const { vaultKeys } = keep.services;
  await keep.database.inAccount(accountId, async (transaction) => {
    const to = await vaultKeys.rotate(transaction, vaultRef);
    for (const secretId of [fixture.secret, fixture.sibling, fixture.deleted]) {
      await reencryptSecret(transaction, { ...vaultRef, secretId }, { to, ...keep.services });
    }
    await destroyRetiredKeys(transaction, vaultRef);
  });
  await write(keep, { token, vaultId }, ["/a/KEY", fixture.third]);
  const secrets = `/api/secrets/vaults/${vaultId}/secrets`;
  for (const path of [`${fixture.secret}/versions/1`, fixture.deleted]) {
    expect((await keep.request(`${secrets}/${path}`, { method: "DELETE", token })).status).toBe(204);
  }
}
