/**
 * @module
 * Vaults with everything that a vault can contain, and what is stored of them, for tests of transfers.
 * Imported by tests only.
 */

import { Hidden } from "@hearth-and-keep/logging";
import type { Problem } from "@hearth-and-keep/vault-contract";
import { verifyDatabase } from "../../../commands/verify-audit.ts";
import { readKeys } from "../../../keys/key-encryption-key.ts";
import { asSuperuser } from "../../../keys/test/tamper-fixtures.ts";
import { succeed, write } from "../../../organisations/test/shared-vault.ts";
import type { Teammate } from "../../../organisations/test/start-team.ts";
import type { TestKeep } from "../../../test/start-test-keep.ts";
import { copiedColumns } from "../queries.ts";

const vaults = "/api/secrets/vaults";

/** A vault of the person's own account, without secrets; returns its path. */
export async function addVault(person: Teammate, name = "Project"): Promise<string> {
  const { id } = await succeed<{ id: string }>(person, "POST", vaults, { name });
  return `${vaults}/${id}`;
}

/** With several versions of a secret at `/app/KEY`, a deleted one, and an empty folder. */
export async function addFilledVault(person: Teammate): Promise<string> {
  const vault = await addVault(person);
  for (const value of ["first", "second", "third"]) await write(person, vault, ["/app/KEY", value]);
  const body = { value: "noted", tags: ["tag"], note: "about it" };
  await succeed(person, "PUT", `${vault}/secrets/by-path/app/NOTED`, body);
  const { id } = await succeed<{ id: string }>(person, "GET", `${vault}/secrets/by-path/app/KEY`);
  await succeed(person, "DELETE", `${vault}/secrets/${id}/versions/1`);
  await write(person, vault, ["/app/DELETED", "deleted"]);
  await succeed(person, "DELETE", `${vault}/secrets/by-path/app/DELETED`);
  await succeed(person, "POST", `${vault}/folders`, { path: "/empty" });
  return vault;
}

export function transfer<Body = Problem>(person: Teammate, vault: string, to: string) {
  return person.send<Body>("POST", `${vault}/transfer`, { to });
}

/** What a transfer changes in rows. */
const changing = ["account_id", "revision", "head", "updated_at", "wrapped"];

/** All rows of a vault, by table, without what a transfer changes, and the accounts that they are in. */
export async function readRows(keep: Pick<TestKeep, "databaseUrl">, vaultId: string) {
  return asSuperuser(keep.databaseUrl, async (superuser) => {
    const rows: Record<string, readonly unknown[]> = {};
    const accounts = new Set<string>();
    for (const table of Object.keys(copiedColumns)) {
      const kept = table === "vault" || table === "vault_key" ? changing : ["account_id"];
      const id = table === "vault" ? "id" : "vault_id";
      const found = await superuser.query<{ account: string; content: string }>(
        `SELECT account_id AS account, (to_jsonb(stored) - $2::text[])::text AS content FROM ${table} AS stored WHERE ${id} = $1 ORDER BY content`,
        [vaultId, kept],
      );
      rows[table] = found.rows.map(({ content }) => content);
      for (const { account } of found.rows) accounts.add(account);
    }
    return { rows, accounts: [...accounts] };
  });
}

/** What `keep audit verify --database` reports. */
export async function findFindings(keep: TestKeep): Promise<readonly string[]> {
  const lines: string[] = [];
  const wrapper = readKeys(new Hidden(keep.key));
  const { database } = keep;
  const code = await verifyDatabase({}, { database, wrapper, print: (line) => lines.push(line) });
  return code === 0 ? [] : lines;
}
