import type { SecretsLocation } from "./secrets-location.ts";

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
  return `${secretPath(vaultId, secretId)}/value${formatQuery({ ...query, version: query.version?.toString() })}`;
}

/** The secrets of a folder, or of the whole vault when a search, a tag or Recently deleted is shown. */
export function secretListPath(location: SecretsLocation): string | undefined {
  const { vaultId, folder, search, tag, isDeleted, sort } = location;
  if (vaultId === undefined) return undefined;
  const text = search.trim();
  const isWholeVault = text !== "" || tag !== "" || isDeleted;
  const query = formatQuery({
    path: isWholeVault ? "/" : folder,
    recursive: isWholeVault ? "true" : undefined,
    q: text === "" ? undefined : text,
    tag: tag === "" ? undefined : tag,
    state: isDeleted ? "deleted" : undefined,
    sort: isDeleted || sort === "name" ? undefined : sort,
  });
  return `${vaultPath(vaultId)}/secrets${query}`;
}

export function folderListPath({ vaultId, folder }: SecretsLocation): string | undefined {
  return vaultId === undefined ? undefined : `${vaultPath(vaultId)}/folders${formatQuery({ path: folder })}`;
}

export function formatQuery(values: Readonly<Record<string, string | undefined>>): string {
  const parameters = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? "")}`);
  return parameters.length === 0 ? "" : `?${parameters.join("&")}`;
}
