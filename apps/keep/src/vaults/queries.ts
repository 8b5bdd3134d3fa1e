import type { Database } from "../database/open-database.ts";

/** Encrypted is what the rows say: there is a key that seals, and no value that none seals. */
const isEncrypted =
  "(EXISTS (SELECT FROM vault_key AS key WHERE key.account_id = vault.account_id AND key.vault_id = vault.id AND key.status = 'active')" +
  " AND NOT EXISTS (SELECT FROM secret_version AS version WHERE version.account_id = vault.account_id AND version.vault_id = vault.id AND version.sealed IS NOT NULL AND get_byte(version.sealed, 0) <> 1))";

export type VaultRow = {
  readonly id: string;
  readonly name: string;
  readonly is_encrypted: boolean;
  readonly created_at: Date;
};

/** In the order of their making, a page after the one that ended with `after`. Null takes all vaults. */
export async function listVaults(
  database: Pick<Database, "askInAccount">,
  accountId: string,
  page: { readonly ids: readonly string[] | null; readonly after: string | null; readonly limit: number },
): Promise<readonly VaultRow[]> {
  return database.askInAccount<VaultRow>(accountId, {
    name: "list-vaults",
    text: `SELECT vault.id, vault.name, vault.created_at, ${isEncrypted} AS is_encrypted FROM live_vault AS vault WHERE vault.account_id = entered.account::uuid AND ($2::uuid[] IS NULL OR vault.id = ANY ($2)) AND ($3::uuid IS NULL OR vault.id > $3) ORDER BY vault.id LIMIT $4`,
    values: [page.ids, page.after, page.limit],
  });
}
