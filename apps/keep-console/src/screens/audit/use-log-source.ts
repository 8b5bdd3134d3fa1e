import type { Vault, VaultAccess, VaultDetail } from "@hearth-and-keep/vault-contract";
import { useQuery } from "../../vault-api/use-query.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import type { LogId } from "./audit-record.ts";

export type LogSource = {
  /** Undefined until it is known, and for a vault that cannot be opened. */
  readonly vaultName: string | undefined;
  readonly organisationId: string | undefined;
};

/** Whose the log of a vault is, if the vault is not one of the person's own. */
export function useLogSource(logId: LogId, vaults: readonly Vault[]): LogSource {
  const isOwn = logId === "account" || vaults.some(({ id }) => id === logId);
  const path = isOwn ? undefined : vaultPath(logId);
  const vault = useQuery<VaultDetail>(path);
  const access = useQuery<VaultAccess>(path === undefined ? undefined : `${path}/access`);
  return {
    vaultName: vault.state === "loaded" ? vault.body.name : undefined,
    organisationId: access.state === "loaded" ? (access.body.organisation_id ?? undefined) : undefined,
  };
}
