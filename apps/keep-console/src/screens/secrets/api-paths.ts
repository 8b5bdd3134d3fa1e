import type { SecretsPlace } from "./secrets-location.ts";

export const vaultsPath = "/api/secrets/vaults";

export function vaultPath(vaultId: string): string {
  return `${vaultsPath}/${encodeURIComponent(vaultId)}`;
}

export function secretPath(vaultId: string, secretId: string): string {
  return `${vaultPath(vaultId)}/secrets/${encodeURIComponent(secretId)}`;
}

export function secretAtPath(vaultId: string, path: string): string {
  const segments = path.split("/").filter((segment) => segment !== "");
  return `${vaultPath(vaultId)}/secrets/by-path/${segments.map(encodeURIComponent).join("/")}`;
}

export function valuePath(
  vaultId: string,
  secretId: string,
  query: { readonly version?: number; readonly expand?: "references" } = {},
): string {
  return `${secretPath(vaultId, secretId)}/value${queryOf({ ...query, version: query.version?.toString() })}`;
}

/** What the place shows: a folder's secrets, or those of the whole vault that are searched for. */
export function secretListPath({ vaultId, folder, text, tag, isDeleted }: SecretsPlace): string | undefined {
  if (vaultId === undefined) return undefined;
  const wanted = text.trim();
  const isWide = wanted !== "" || tag !== "" || isDeleted;
  const query = queryOf({
    path: isWide ? "/" : folder,
    recursive: isWide ? "true" : undefined,
    q: wanted === "" ? undefined : wanted,
    tag: tag === "" ? undefined : tag,
    state: isDeleted ? "deleted" : undefined,
  });
  return `${vaultPath(vaultId)}/secrets${query}`;
}

export function folderListPath({ vaultId, folder }: SecretsPlace): string | undefined {
  return vaultId === undefined ? undefined : `${vaultPath(vaultId)}/folders${queryOf({ path: folder })}`;
}

export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? "")}`);
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}
