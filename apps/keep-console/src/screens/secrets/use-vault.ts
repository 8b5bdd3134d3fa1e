import type { Vault, VaultAccess, VaultDetail } from "@hearth-and-keep/vault-contract";
import { useMemo } from "react";
import type { ApiError } from "../../vault-api/api-client.ts";
import { type QueryResult, useQuery } from "../../vault-api/use-query.ts";
import { vaultPath } from "./api-paths.ts";
import { type Access, fullAccess, toAccess } from "./vault-access.ts";

type OpenedVault =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly error: ApiError; readonly reload: () => void }
  | { readonly state: "loaded"; readonly vault: Vault; readonly access: Access };

type VaultList = QueryResult<readonly Vault[]>;

/** The vault of an id: one of the person's own, or of an organisation that shares it with them. */
export function useVault(vaultId: string | undefined, own: VaultList): OpenedVault {
  const ownVault = own.state === "loaded" ? own.body.find(({ id }) => id === vaultId) : undefined;
  const isOther = own.state === "loaded" && ownVault === undefined && vaultId !== undefined;
  const path = isOther ? vaultPath(vaultId) : undefined;
  const detail = useQuery<VaultDetail>(path);
  const permissions = useQuery<VaultAccess>(path === undefined ? undefined : `${path}/access`);
  const body = permissions.state === "loaded" ? permissions.body : undefined;
  const access = useMemo(() => (body === undefined ? undefined : toAccess(body)), [body]);
  if (ownVault !== undefined) return { state: "loaded", vault: ownVault, access: fullAccess };
  const failed = [detail, permissions].find((query) => query.state === "failed");
  if (failed?.state === "failed") {
    const reload = (): void => {
      detail.reload();
      permissions.reload();
    };
    return { state: "failed", error: failed.error, reload };
  }
  if (detail.state !== "loaded" || access === undefined) return { state: "loading" };
  return { state: "loaded", vault: detail.body, access };
}
