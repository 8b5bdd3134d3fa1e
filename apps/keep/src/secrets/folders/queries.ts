import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";
import type { PreparedUpdate } from "../change-secret.ts";
import type { SecretRow } from "../queries.ts";
import { listAncestors } from "../secret-path.ts";

export type FolderRow = { readonly path: string; readonly created_at: Date };

/** Creates the folder and its missing parents; returns the created ones. */
export async function createFolders(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  folder: string,
): Promise<readonly FolderRow[]> {
  if (folder === "/") return [];
  return transaction.query<FolderRow>({
    name: "create-folders",
    text: "INSERT INTO folder (account_id, vault_id, path) SELECT $1, $2, unnest($3::text[]) ON CONFLICT DO NOTHING RETURNING path, created_at",
    values: [accountId, vaultId, listAncestors(folder)],
  });
}

export async function findFolder(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  path: string,
): Promise<FolderRow | undefined> {
  const [row] = await transaction.query<FolderRow>({
    text: "SELECT path, created_at FROM folder WHERE account_id = $1 AND vault_id = $2 AND path = $3",
    values: [accountId, vaultId, path],
  });
  return row;
}

export type FolderSearch = {
  /** The parent folder. */
  readonly within: string;
  readonly recursive: boolean;
  readonly after: string | null;
  readonly limit: number;
};

export async function listFolders(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  { within, recursive, after, limit }: FolderSearch,
): Promise<readonly FolderRow[]> {
  return database.queryInAccount<FolderRow>(accountId, {
    name: "list-folders",
    text: "SELECT path, created_at FROM folder WHERE account_id = entered.account::uuid AND vault_id = $2 AND starts_with(path, $3) AND ($4 OR position('/' IN substr(path, length($3) + 1)) = 0) AND ($5::text IS NULL OR path > $5::text COLLATE \"C\") ORDER BY path LIMIT $6",
    values: [vaultId, within === "/" ? "/" : `${within}/`, recursive, after, limit],
  });
}

/** Deletes the folder and its subfolders. */
export async function deleteFolders(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  folder: string,
): Promise<number> {
  const rows = await transaction.query({
    text: "DELETE FROM folder WHERE account_id = $1 AND vault_id = $2 AND (path = $3 OR starts_with(path, $3 || '/')) RETURNING path",
    values: [accountId, vaultId, folder],
  });
  return rows.length;
}

/** Renames the folder and its subfolders, keeping their creation times; returns how many were renamed. */
export async function renameFolders(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<number> {
  const moved = await transaction.query({
    text: "WITH gone AS (DELETE FROM folder WHERE account_id = $1 AND vault_id = $2 AND (path = $3 OR starts_with(path, $3 || '/')) RETURNING path, created_at) INSERT INTO folder (account_id, vault_id, path, created_at) SELECT $1, $2, $4 || substr(path, length($3) + 1), created_at FROM gone ON CONFLICT DO NOTHING RETURNING path",
    values: [accountId, vaultId, from, to],
  });
  return moved.length;
}

/** Live secrets in the folder and its subfolders. */
export async function listPathsWithin(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  folder: string,
): Promise<readonly Pick<SecretRow, "id" | "folder" | "name">[]> {
  return transaction.query({
    text: "SELECT id, folder, name FROM live_secret WHERE account_id = $1 AND vault_id = $2 AND (folder = $3 OR starts_with(folder, CASE $3 WHEN '/' THEN '/' ELSE $3 || '/' END))",
    values: [accountId, vaultId, folder],
  });
}

/** Stores moved or deleted secrets in one statement. Type, tags and versions do not change. */
export async function updateSecretRows(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  updates: readonly PreparedUpdate[],
): Promise<void> {
  const column = <Value>(read: (update: PreparedUpdate) => Value): readonly Value[] => updates.map(read);
  const updated = await transaction.query({
    name: "update-secrets",
    text: "UPDATE secret SET folder = new.folder, name = new.name, revision = new.revision, note_sealed = new.note_sealed, key_version = new.key_version, mark = new.mark, updated_by = new.updated_by, updated_at = now(), deleted_at = CASE WHEN new.days_left IS NULL THEN NULL ELSE now() END, purge_after = now() + make_interval(days => new.days_left) FROM unnest($3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::bytea[], $8::int[], $9::bytea[], $10::text[], $11::int[]) AS new (id, folder, name, revision, note_sealed, key_version, mark, updated_by, days_left) WHERE secret.account_id = $1 AND secret.vault_id = $2 AND secret.id = new.id RETURNING secret.id",
    values: [
      accountId,
      vaultId,
      column(({ row }) => row.id),
      column(({ row }) => row.folder),
      column(({ row }) => row.name),
      column(({ row }) => row.revision),
      column(({ row }) => row.note_sealed),
      column(({ row }) => row.key_version),
      column(({ row }) => row.mark),
      column(({ row }) => row.updated_by),
      column(({ daysLeft }) => daysLeft),
    ],
  });
  if (updated.length !== updates.length) throw new Error("A secret disappeared while its vault was locked");
}
