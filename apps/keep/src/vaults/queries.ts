import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { VaultRef } from "../keys/vault-keys.ts";

export type VaultRow = {
  readonly id: string;
  readonly name: string;
  readonly created_at: Date;
};

export type VaultDetailRow = VaultRow & {
  readonly kind: "personal" | "project";
  readonly revision: number;
  readonly demands_preconditions: boolean;
  readonly most_versions: number;
  /** Whether a write destroys the oldest versions beyond that number, instead of being refused. */
  readonly prunes_versions: boolean;
  /** Names of folders at the top. */
  readonly environments: readonly string[];
  /** The folder from which environments inherit. */
  readonly base_folder: string | null;
  /** Patterns of paths whose changes need the approval of a second person. */
  readonly protected_paths: readonly string[];
  /** How many proposed changes were decided; each decision ends the MACs of those that wait. */
  readonly decided_changes: number;
  readonly updated_at: Date;
  readonly deleted_at: Date | null;
};

const listColumns = "vault.id, vault.name, vault.created_at";
const detailColumns = `${listColumns}, vault.kind, vault.revision::float8 AS revision, vault.demands_preconditions, vault.most_versions, vault.prunes_versions, vault.environments, vault.base_folder, vault.protected_paths, vault.decided_changes, vault.updated_at, vault.deleted_at`;
/** As they will be after the change. */
const changedColumns = detailColumns.replace("vault.updated_at", "now() AS updated_at");

const liveVaults = `SELECT ${listColumns} FROM live_vault AS vault WHERE vault.account_id = entered.account::uuid AND ($2::uuid[] IS NULL OR vault.id = ANY ($2)) AND ($3::uuid IS NULL OR vault.id > $3) ORDER BY vault.id LIMIT $4`;

type VaultPage = {
  readonly ids: readonly string[] | null;
  readonly after: string | null;
  readonly limit: number;
};

/** In order of creation, after the id `after`; null `ids` means all vaults. */
export async function listVaults(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  page: VaultPage,
): Promise<readonly VaultRow[]> {
  return database.queryInAccount<VaultRow>(accountId, {
    name: "list-vaults",
    connection: "shared",
    text: liveVaults,
    values: [page.ids, page.after, page.limit],
  });
}

/** As `listVaults`, for soft-deleted vaults. */
export async function listDeletedVaults(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  page: VaultPage,
): Promise<readonly VaultRow[]> {
  return database.queryInAccount<VaultRow>(accountId, {
    name: "list-deleted-vaults",
    text: `SELECT ${listColumns} FROM vault WHERE vault.account_id = entered.account::uuid AND vault.deleted_at IS NOT NULL AND ($2::uuid[] IS NULL OR vault.id = ANY ($2)) AND ($3::uuid IS NULL OR vault.id > $3) ORDER BY vault.id LIMIT $4`,
    values: [page.ids, page.after, page.limit],
  });
}

/** Undefined when the vault is deleted or belongs to another account. */
export async function readVault(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
): Promise<VaultDetailRow | undefined> {
  const [row] = await database.queryInAccount<VaultDetailRow>(accountId, {
    name: "read-vault",
    text: `SELECT ${detailColumns} FROM live_vault AS vault WHERE vault.account_id = entered.account::uuid AND vault.id = $2`,
    values: [vaultId],
  });
  return row;
}

/** As `readVault`, with the head that authenticates the row. */
export async function readVaultWithHead(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
): Promise<(VaultDetailRow & { readonly head: Buffer | null }) | undefined> {
  const [row] = await database.queryInAccount<VaultDetailRow & { readonly head: Buffer | null }>(accountId, {
    name: "read-vault-with-head",
    text: `SELECT ${detailColumns}, vault.head FROM live_vault AS vault WHERE vault.account_id = entered.account::uuid AND vault.id = $2`,
    values: [vaultId],
  });
  return row;
}

/** What the account stores, over all its vaults, before this change. */
type AccountUsage = {
  readonly live_secrets: number;
  /** Including deleted ones. */
  readonly all_secrets: number;
  /** Ciphertexts of all versions. */
  readonly stored_bytes: number;
};

const accountUsage =
  "SELECT sum(live_secrets)::float8 AS live_secrets, sum(all_secrets)::float8 AS all_secrets, sum(stored_bytes)::float8 AS stored_bytes FROM vault WHERE account_id = $1";

export type LockedVaultRow = VaultDetailRow & AccountUsage & { readonly head: Buffer | null };

/** The row stays locked until the end of the transaction, which serializes changes in a vault. */
export async function lockVault(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<LockedVaultRow | undefined> {
  const [row] = await transaction.query<LockedVaultRow>({
    name: "lock-vault",
    text: `SELECT ${changedColumns}, vault.head, usage.* FROM vault CROSS JOIN (${accountUsage}) AS usage WHERE vault.account_id = $1 AND vault.id = $2 FOR NO KEY UPDATE OF vault`,
    values: [accountId, vaultId],
  });
  return row;
}

/** What changes of a vault lead to. The counts are those of the added rows, negative for removed ones. */
type ChangedState = {
  readonly revision: number;
  readonly head: Buffer;
  readonly liveSecrets: number;
  readonly allSecrets: number;
  readonly storedBytes: number;
};

export function updateVaultState(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { revision, head, liveSecrets, allSecrets, storedBytes }: ChangedState,
): void {
  transaction.queryAtCommit({
    name: "update-vault-state",
    text: "UPDATE vault SET revision = $3, head = $4, updated_at = now(), live_secrets = live_secrets + $5, all_secrets = all_secrets + $6, stored_bytes = stored_bytes + $7 WHERE account_id = $1 AND id = $2",
    values: [accountId, vaultId, revision, head, liveSecrets, allSecrets, storedBytes],
  });
}

/** Locks the account, so that two concurrent transactions cannot both pass the quota check. */
export async function countVaults(transaction: Transaction, accountId: string): Promise<number> {
  await transaction.query({
    text: "SELECT FROM account WHERE account_id = $1 FOR NO KEY UPDATE",
    values: [accountId],
  });
  const [row] = await transaction.query<{ count: number }>({
    text: "SELECT count(*)::float8 AS count FROM live_vault WHERE account_id = $1",
    values: [accountId],
  });
  return row?.count ?? 0;
}

export type NewVaultRow = Omit<
  LockedVaultRow,
  | keyof AccountUsage
  | "id"
  | "environments"
  | "base_folder"
  | "protected_paths"
  | "decided_changes"
  | `${string}_at`
>;

export async function insertVault(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { kind, name, revision, demands_preconditions, most_versions, prunes_versions, head }: NewVaultRow,
): Promise<VaultDetailRow> {
  const [row] = await transaction.query<VaultDetailRow>({
    text: `INSERT INTO vault (account_id, id, kind, name, revision, demands_preconditions, most_versions, prunes_versions, head) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING ${detailColumns}`,
    values: [
      accountId,
      vaultId,
      kind,
      name,
      revision,
      demands_preconditions,
      most_versions,
      prunes_versions,
      head,
    ],
  });
  if (row === undefined) throw new Error("INSERT returned no row");
  await insertVaultRoute(transaction, { accountId, vaultId });
  return row;
}

/** Only vaults of organisations have one. */
export async function insertVaultRoute(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO vault_route (vault_id, account_id) SELECT $2, account_id FROM account WHERE account_id = $1 AND kind = 'organisation'",
    values: [accountId, vaultId],
  });
}

export type VaultSettings = {
  readonly name: string;
  readonly requiresPreconditions: boolean;
  readonly maxVersions: number;
  readonly prunesVersions: boolean;
  readonly environments: readonly string[];
  readonly baseFolder: string | null;
  readonly protectedPaths: readonly string[];
};

export async function updateVault(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  settings: VaultSettings,
): Promise<void> {
  const { name, requiresPreconditions, maxVersions, prunesVersions, environments, baseFolder } = settings;
  await transaction.query({
    text: "UPDATE vault SET name = $3, demands_preconditions = $4, most_versions = $5, prunes_versions = $6, environments = $7, base_folder = $8, protected_paths = $9 WHERE account_id = $1 AND id = $2",
    values: [
      accountId,
      vaultId,
      name,
      requiresPreconditions,
      maxVersions,
      prunesVersions,
      environments,
      baseFolder,
      settings.protectedPaths,
    ],
  });
}

/** Whether the account belongs to several people. */
export async function isOrganisation(transaction: Transaction, accountId: string): Promise<boolean> {
  const rows = await transaction.query({
    text: "SELECT FROM account WHERE account_id = $1 AND kind = 'organisation'",
    values: [accountId],
  });
  return rows.length === 1;
}

/** Null restores the vault. */
export async function setVaultDeletion(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  afterDays: number | null,
): Promise<void> {
  await transaction.query({
    text: "UPDATE vault SET deleted_at = CASE WHEN $3::int IS NULL THEN NULL ELSE now() END, purge_after = now() + make_interval(days => $3::int) WHERE account_id = $1 AND id = $2",
    values: [accountId, vaultId, afterDays],
  });
}

/** By the database's clock. */
export async function isVaultPurgeDue(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "SELECT FROM vault WHERE account_id = $1 AND id = $2 AND purge_after <= now()",
    values: [accountId, vaultId],
  });
  return rows.length === 1;
}

/**
 * Deletes the vault with its contents and keys. Its audit chain stays. `key_version > 0`, true for every row, makes the
 * indexes of whole vaults apply.
 */
export async function deleteVaultRows(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<void> {
  for (const [table, condition] of [
    ["proposed_change", "vault_id = $2"],
    ["secret_version", "vault_id = $2 AND key_version > 0"],
    ["secret", "vault_id = $2 AND key_version > 0"],
    ["folder", "vault_id = $2"],
    ["vault_key", "vault_id = $2"],
    ["vault_access", "vault_id = $2"],
    ["vault_route", "vault_id = $2"],
    ["vault", "id = $2"],
  ] as const) {
    await transaction.query({
      text: `DELETE FROM ${table} WHERE account_id = $1 AND ${condition}`,
      values: [accountId, vaultId],
    });
  }
}
