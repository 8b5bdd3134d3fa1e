import type { Vault, VaultDetail } from "@hearth-and-keep/vault-contract";
import type { VaultDetailRow, VaultRow } from "./queries.ts";

export type { VaultDetail };

/** The fields of a vault in lists. A database constraint rejects values that are not encrypted. */
export function describeVault({ id, name, created_at }: VaultRow): Vault {
  return { id, name, is_encrypted: true, created_at: created_at.toISOString() };
}

export function describeVaultDetail(row: VaultDetailRow): VaultDetail {
  return {
    ...describeVault(row),
    kind: row.kind,
    revision: row.revision,
    demands_preconditions: row.demands_preconditions,
    most_versions: row.most_versions,
    when_versions_full: row.prunes_versions ? "destroy-oldest" : "refuse",
    environments: [...row.environments],
    base: row.base_folder,
    protected_paths: [...row.protected_paths],
    updated_at: row.updated_at.toISOString(),
  };
}
