import { vaultList } from "@hearth-and-keep/vault-contract";
import { type ClientError, clientFailure } from "./client-failure.ts";
import type { VaultClient } from "./vault-client.ts";

/** The id of the vault with this name. Apart, because most commands know the id and start faster without it. */
export async function findVault(name: string, client: VaultClient): Promise<string> {
  const vaults = await client.request("/api/secrets/vaults", { shape: vaultList, query: { limit: "200" } });
  const [found, ...others] = vaults.filter((vault) => vault.name === name);
  if (found === undefined) throw vaultError(`There is no vault named "${name}"`);
  if (others.length > 0) throw vaultError(`There are ${others.length + 1} vaults named "${name}"`);
  return found.id;
}

function vaultError(message: string): ClientError {
  return clientFailure({ kind: "usage-error", message, next: "pass the id of the vault with --vault" });
}
