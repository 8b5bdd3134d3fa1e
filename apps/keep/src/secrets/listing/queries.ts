import type { SecretSort } from "@hearth-and-keep/vault-contract";
import { prefixCondition } from "../../authorization/path-patterns.ts";
import type { Database } from "../../database/open-database.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";
import {
  joinCurrentVersion,
  listColumns,
  lowerCase,
  pathExpression,
  type SecretMetadataRow,
} from "../queries.ts";

export type SecretSearch = {
  readonly folder: string;
  readonly recursive: boolean;
  /** A case-insensitive substring of the path. */
  readonly text: string | null;
  readonly tag: string | null;
  /** From `pathPrefixes`; null selects every path. */
  readonly prefixes: readonly string[] | null;
  readonly limit: number;
};

const searchCondition =
  `(secret.folder = $3 OR ($4 AND starts_with(secret.folder, CASE $3 WHEN '/' THEN '/' ELSE $3 || '/' END)))` +
  ` AND ($5::text IS NULL OR position(lower($5) IN ${lowerCase(pathExpression)}) > 0) AND ($6::text IS NULL OR secret.tags @> ARRAY[$6::text])` +
  ` AND ${prefixCondition(pathExpression, "$7")} AND secret.account_id = entered.account::uuid AND secret.vault_id = $2`;

function searchParameters(vaultId: string, search: SecretSearch): unknown[] {
  return [vaultId, search.folder, search.recursive, search.text, search.tag, search.prefixes, search.limit];
}

/** With what the order compares first: the folder, or a time in microseconds, which a JavaScript date cannot hold. */
export type ListedSecret = SecretMetadataRow & { readonly sort_key: string };

/** The sort key of a page's last secret, and its name, or its id in an order by time. */
export type ListCursor = readonly [key: string, rest: string];

type Order = {
  readonly key: string;
  readonly rest: string;
  readonly keyType: string;
  readonly restType: string;
};

const byPath: Order = {
  key: "secret.folder",
  rest: "secret.name",
  keyType: '::text COLLATE "C"',
  restType: '::text COLLATE "C"',
};

const byTime = (column: "updated_at" | "created_at"): Order => ({
  key: `(extract(epoch FROM secret.${column}) * 1000000)::bigint`,
  rest: "secret.id",
  keyType: "::bigint",
  restType: "::uuid",
});

const orders = { name: byPath, updated: byTime("updated_at"), created: byTime("created_at") } as const;

/**
 * In the order of `sort`; the page after `after`. The order by path has an index; one by time reads all secrets of the
 * vault, at most as many as an account can have.
 */
export async function listSecrets(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  { after, sort, ...search }: SecretSearch & { readonly after: ListCursor | null; readonly sort: SecretSort },
): Promise<readonly ListedSecret[]> {
  const isReversed = sort.startsWith("-");
  const { key, rest, keyType, restType } = orders[orderOf(sort)];
  const [comparison, direction] = isReversed ? ["<", "DESC"] : [">", "ASC"];
  return database.queryInAccount<ListedSecret>(accountId, {
    name: `list-secrets-${sort}`,
    text: `SELECT ${listColumns}, ${key}::text AS sort_key FROM live_secret AS secret ${joinCurrentVersion} WHERE ${searchCondition} AND ($9::text IS NULL OR (${key}, ${rest}) ${comparison} ($9${keyType}, $10${restType})) ORDER BY ${key} ${direction}, ${rest} ${direction} LIMIT $8`,
    values: [...searchParameters(vaultId, search), after?.[0] ?? null, after?.[1] ?? null],
  });
}

export function orderOf(sort: SecretSort): keyof typeof orders {
  switch (sort) {
    case "name":
    case "-name":
      return "name";
    case "updated":
    case "-updated":
      return "updated";
    case "created":
    case "-created":
      return "created";
  }
}

/** Soft-deleted secrets in order of creation. */
export async function listDeletedSecrets(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  { after, ...search }: SecretSearch & { readonly after: string | null },
): Promise<readonly SecretMetadataRow[]> {
  return database.queryInAccount<SecretMetadataRow>(accountId, {
    name: "list-deleted-secrets",
    text: `SELECT ${listColumns} FROM secret ${joinCurrentVersion} WHERE ${searchCondition} AND secret.deleted_at IS NOT NULL AND ($9::uuid IS NULL OR secret.id > $9) ORDER BY secret.id LIMIT $8`,
    values: [...searchParameters(vaultId, search), after],
  });
}
