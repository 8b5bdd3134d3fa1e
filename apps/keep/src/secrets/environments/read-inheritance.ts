import type { Actor } from "../../authorization/actor.ts";
import { allowsFolder } from "../../authorization/grant.ts";
import type { Database } from "../../database/open-database.ts";
import { requestFailure } from "../../failures.ts";
import type { VaultHeads } from "../../keys/vault-heads/vault-heads.ts";
import { readVaultWithHead, type VaultDetailRow } from "../../vaults/queries.ts";
import { findInheritance, type Inheritance, toBasePath } from "./inherited-folders.ts";

type SettingsDependencies = {
  readonly database: Pick<Database, "queryInAccount">;
  readonly vaultHeads: Pick<VaultHeads, "assertGenuine">;
};

/** The vault's row, after its head has confirmed the settings in it. */
export async function readGenuineVault(
  { accountId }: Pick<Actor, "accountId">,
  vaultId: string,
  { database, vaultHeads }: SettingsDependencies,
): Promise<VaultDetailRow> {
  const vaultRef = { accountId, vaultId };
  const vault = await readVaultWithHead(database, vaultRef);
  if (vault === undefined) throw requestFailure({ kind: "not-found" });
  vaultHeads.assertGenuine(vaultRef, vault);
  return vault;
}

/** From where the folder inherits; throws when it does not, or when the actor may read nothing there. */
export async function readInheritance(
  actor: Actor,
  { vaultId, folder }: { readonly vaultId: string; readonly folder: string },
  dependencies: SettingsDependencies,
): Promise<Inheritance> {
  const vault = await readGenuineVault(actor, vaultId, dependencies);
  const inheritance = findInheritance(vault, folder);
  if (inheritance === undefined) {
    const reason =
      vault.base_folder === null
        ? "needs a base, which this vault does not have; set it in the vault's settings"
        : "needs a path in one of the vault's environments";
    throw requestFailure({ kind: "request-invalid", errors: [{ field: "inherit", reason }] });
  }
  const baseFolder = toBasePath(inheritance, folder) ?? inheritance.base;
  if (!allowsFolder(actor.grant, { scope: "secrets:read", vaultId }, baseFolder))
    throw requestFailure({ kind: "out-of-reach", path: baseFolder });
  return inheritance;
}
