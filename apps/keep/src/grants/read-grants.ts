import { LRUCache } from "lru-cache";
import type { Permission } from "../authorization/grant.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { lockEpoch } from "../keys/row-integrity/account-epoch.ts";
import type { RowMacs, VaultAccessRow } from "../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import { findVaultAccess, readVaultAccess } from "./queries.ts";
import { formatHolder, type Holder, parseGrants, toPermission, type VaultGrant } from "./vault-grants.ts";

/** An organisation, and which grants its vaults have now. */
type GrantsVersion = {
  readonly accountId: string;
  readonly epoch: number;
  /** Vaults with the MACs of their grants, all separated by spaces. */
  readonly version: string;
};

/** What the grants of an organisation allow their holders. */
export type ReadPermissions = (
  grants: GrantsVersion,
  holders: readonly Holder[],
) => Promise<readonly Permission[] | "not-genuine">;

/** The permissions in one vault, by holder. */
type VaultPermissions = ReadonlyMap<string, readonly Permission[]>;

const maxTextBytes = 16 * 1024 * 1024;

/**
 * What the grants of a vault say is kept in memory for as long as the database says by their MAC that they are the same, so
 * that those of a large organisation are not read, verified and parsed for each request.
 */
export function createPermissionReader(
  database: Pick<Database, "queryInAccount">,
  rowMacs: Pick<RowMacs, "isGenuine">,
): ReadPermissions {
  const parsed = new LRUCache<string, VaultPermissions>({ maxSize: maxTextBytes });
  return async ({ accountId, epoch, version }, holders) => {
    const keyOf = (vaultId: string, mac: string): string => `${accountId} ${vaultId} ${epoch} ${mac}`;
    const known = new Map<string, VaultPermissions>();
    const missing: string[] = [];
    for (const { vaultId, mac } of parseVersion(version)) {
      const found = parsed.get(keyOf(vaultId, mac));
      if (found === undefined) missing.push(vaultId);
      else known.set(vaultId, found);
    }
    const read = missing.length === 0 ? [] : await readVaultAccess(database, accountId, missing);
    for (const { mac, ...vaultAccess } of read) {
      if (!rowMacs.isGenuine({ vaultAccess, epoch }, mac)) return "not-genuine";
      const permissions = groupByHolder(vaultAccess);
      const key = keyOf(vaultAccess.vaultId, mac?.toString("base64") ?? "");
      parsed.set(key, permissions, { size: vaultAccess.grants.length });
      known.set(vaultAccess.vaultId, permissions);
    }
    const names = holders.map(formatHolder);
    return [...known.values()].flatMap((vault) => names.flatMap((name) => vault.get(name) ?? []));
  };
}

function parseVersion(version: string): readonly { readonly vaultId: string; readonly mac: string }[] {
  const words = version.split(" ");
  return words.flatMap((vaultId, index) => {
    const mac = words[index + 1];
    return index % 2 === 1 || mac === undefined ? [] : [{ vaultId, mac }];
  });
}

function groupByHolder({ vaultId, grants }: VaultAccessRow): VaultPermissions {
  const byHolder = Map.groupBy(parseGrants(grants), ({ holder }) => formatHolder(holder));
  return new Map(
    [...byHolder].map(([holder, held]) => [holder, held.map((grant) => toPermission(vaultId, grant))]),
  );
}

type GrantReader = {
  readonly database: Pick<Database, "inAccount">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

/** All grants of a vault. */
export function readVaultGrants(
  vaultRef: VaultRef,
  { database, serverKeys: { rowMacs } }: GrantReader,
): Promise<readonly VaultGrant[]> {
  return database.inAccount(vaultRef.accountId, async (transaction) => {
    const epoch = await lockEpoch(transaction, vaultRef.accountId, rowMacs);
    return readGrants(transaction, { vaultRef, epoch }, rowMacs);
  });
}

/** Grants of a vault, and the epoch of its organisation. */
export type StoredAt = { readonly vaultRef: VaultRef; readonly epoch: number };

/** Throws when they were modified outside Keep: they would otherwise be lost with the next change. */
export async function readGrants(
  transaction: Transaction,
  { vaultRef, epoch }: StoredAt,
  rowMacs: Pick<RowMacs, "isGenuine">,
): Promise<readonly VaultGrant[]> {
  const row = await findVaultAccess(transaction, vaultRef);
  if (row === undefined) return [];
  const { mac, ...vaultAccess } = row;
  if (!rowMacs.isGenuine({ vaultAccess, epoch }, mac)) throw requestFailure({ kind: "integrity-broken" });
  return parseGrants(vaultAccess.grants);
}
