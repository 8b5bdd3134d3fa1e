import type { Database } from "../../database/open-database.ts";
import {
  joinCurrentVersion,
  listColumns,
  lowerCase,
  pathExpression,
  type SecretMetadataRow,
} from "../queries.ts";

export type FoundSecretRow = SecretMetadataRow & {
  readonly vault_id: string;
  readonly vault_name: string;
};

export type FoundPosition = readonly [vaultId: string, folder: string, name: string];

export type AccountSearch = {
  /** Each is in the path or in a tag. None contains a line break, so none is found across two tags. */
  readonly words: readonly string[];
  /** Null searches all vaults of the account. */
  readonly vaultIds: readonly string[] | null;
  readonly after: FoundPosition | null;
  readonly limit: number;
};

const text = lowerCase(`${pathExpression} || E'\\n' || array_to_string(secret.tags, E'\\n')`);
const matches = `NOT EXISTS (SELECT FROM unnest($2::text[]) AS word WHERE position(lower(word) IN ${text}) = 0)`;
const isAfter = `($4::uuid IS NULL OR secret.vault_id > $4 OR (secret.folder, secret.name) > ($5::text COLLATE "C", $6::text COLLATE "C"))`;

/**
 * Live secrets in live vaults, ordered by vault, folder and name. The lateral join reads the index of one vault after the
 * other, in that order.
 */
export async function searchSecrets(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  { words, vaultIds, after, limit }: AccountSearch,
): Promise<readonly FoundSecretRow[]> {
  const [vaultId = null, folder = null, name = null] = after ?? [];
  return database.queryInAccount<FoundSecretRow>(accountId, {
    name: "search-secrets",
    text: `SELECT vault.id AS vault_id, vault.name AS vault_name, found.* FROM live_vault AS vault CROSS JOIN LATERAL (SELECT ${listColumns} FROM live_secret AS secret ${joinCurrentVersion} WHERE secret.account_id = vault.account_id AND secret.vault_id = vault.id AND ${isAfter} AND ${matches} ORDER BY secret.folder, secret.name LIMIT $7) AS found WHERE vault.account_id = entered.account::uuid AND ($3::uuid[] IS NULL OR vault.id = ANY ($3)) AND ($4::uuid IS NULL OR vault.id >= $4) ORDER BY vault.id, found.folder, found.name LIMIT $7`,
    values: [words, vaultIds, vaultId, folder, name, limit],
  });
}
