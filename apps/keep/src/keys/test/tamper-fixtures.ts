/**
 * @module
 * A database full of small cells for whoever tampers with rows: in each an account with two vaults and a stranger's
 * account, secrets with histories, and a copy of every table as it was earlier, to put rows back from.
 * Imported by tests only.
 */
import { Hidden } from "@hearth-and-keep/logging";
import { Client } from "pg";
import { expect } from "vitest";
import { reencryptSecret } from "../../secrets/reencrypt-secret.ts";
import { readAnswer } from "../../test/read-json.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { readKeys } from "../key-encryption-key.ts";
import { destroyRetiredKeys } from "../rotation/queries.ts";
import { createVaultKeys } from "../vault-keys.ts";

export type Cell = {
  readonly accountId: string;
  readonly token: string;
  readonly vaultId: string;
  readonly otherVaultId: string;
  readonly strangersVaultId: string;
  /** With three versions, the first destroyed, and a note. */
  readonly secret: string;
  readonly sibling: string;
  readonly deleted: string;
  readonly inOtherVault: string;
  readonly strangers: string;
  /** What the secret's second and third version hold. */
  readonly second: string;
  readonly third: string;
};

const tables = ["secret", "secret_version", "vault", "vault_key", "audit_event", "audit_chain"] as const;

export async function makeCells(keep: TestKeep, count: number): Promise<readonly Cell[]> {
  const cells: Cell[] = [];
  for (let number = 0; number < count; number += 1) cells.push(await beginCell(keep, number));
  await copyTables(keep.databaseUrl, "earlier");
  for (const cell of cells) await continueCell(keep, cell);
  await copyTables(keep.databaseUrl, "true");
  return cells;
}

async function copyTables(url: string, name: string): Promise<void> {
  await inSuperuser(url, async (superuser) => {
    for (const table of tables) await superuser.query(`CREATE TABLE ${name}_${table} AS TABLE ${table}`);
  });
}

/** Everything as it was when the cells were made; what was tampered with is forgotten. */
export async function restoreCells(superuser: Client): Promise<void> {
  for (const table of tables) {
    await superuser.query(`DELETE FROM ${table}`);
    await superuser.query(`INSERT INTO ${table} TABLE true_${table}`);
  }
}

export async function inSuperuser<Result>(
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

type Writing = { readonly token: string; readonly vaultId: string };

async function write(
  keep: TestKeep,
  { token, vaultId }: Writing,
  [path, value]: readonly [string, string],
): Promise<string> {
  const body = { value, note: `about ${value}` };
  const answer = await keep.ask(`/api/secrets/vaults/${vaultId}/secrets/by-path${path}`, {
    method: "PUT",
    token,
    body,
  });
  expect([200, 201]).toContain(answer.status);
  return (await readAnswer<{ id: string }>(answer)).id;
}

const allScopes = [
  "secrets:read",
  "secrets:write",
  "secrets:delete",
  "secrets:destroy",
  "vaults:write",
  "audit:read",
] as const;

async function beginCell(keep: TestKeep, number: number): Promise<Cell> {
  const [owner, stranger] = [await keep.addPerson(), await keep.addPerson()];
  const { text: token } = await keep.addToken(owner, { scopes: [...allScopes] });
  const { text: strangersToken } = await keep.addToken(stranger, { scopes: [...allScopes] });
  const made = await keep.ask("/api/secrets/vaults", { method: "POST", token, body: { name: "Other" } });
  const { id: otherVaultId } = await readAnswer<{ id: string }>(made);
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
      `strange value ${number}`,
    ]),
    second,
    third,
  };
}

/** A new data key, the third version, the first one destroyed, and one secret deleted. */
async function continueCell(keep: TestKeep, cell: Cell): Promise<void> {
  const { token, vaultId, accountId } = cell;
  const place = { accountId, vaultId };
  const vaultKeys = createVaultKeys(keep.database, readKeys(new Hidden(keep.key)));
  await keep.database.inAccount(accountId, async (transaction) => {
    const to = await vaultKeys.rotate(transaction, place);
    for (const secretId of [cell.secret, cell.sibling, cell.deleted]) {
      await reencryptSecret(transaction, { ...place, secretId }, { to, vaultKeys });
    }
    await destroyRetiredKeys(transaction, place);
  });
  await write(keep, { token, vaultId }, ["/a/KEY", cell.third]);
  const secrets = `/api/secrets/vaults/${vaultId}/secrets`;
  for (const path of [`${cell.secret}/versions/1`, cell.deleted]) {
    expect((await keep.ask(`${secrets}/${path}`, { method: "DELETE", token })).status).toBe(204);
  }
}
