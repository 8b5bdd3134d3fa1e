import { type SecretMetadata, secret } from "@hearth-and-keep/vault-contract";
import { encodePath, pathOf, type VaultContext } from "./open-context.ts";

/** The metadata of a secret: a name in the folder, or a path from the root of the vault. */
export function findSecret(name: string, context: VaultContext): Promise<SecretMetadata> {
  const path = pathOf(name, context);
  const address = `/api/secrets/vaults/${context.vaultId}/secrets/by-path${encodePath(path)}`;
  return context.client.request(address, { shape: secret, subject: path });
}
