import { assertFolderAllowed } from "../authorization/grant.ts";
import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import { assertPreconditions } from "../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "./change-queue.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import type { VaultChange } from "./open-changes.ts";
import { updateVault, type VaultSettings } from "./queries.ts";

/** Omitted settings keep their value. They apply to every secret, so a token restricted to paths may not change them. */
export function updateSettings(
  { preconditions, ...request }: ChangeRequest,
  changes: Partial<VaultSettings>,
  { changeQueue }: Pick<ChangeDependencies, "changeQueue">,
): Promise<IdempotentResult<VaultDetail>> {
  assertFolderAllowed(request.actor.grant, "/");
  return changeQueue.run(request, async (change) => {
    const { vault, vaultRef, transaction } = change;
    assertPreconditions(preconditions, vaultPreconditionTarget(change));
    const settings = {
      name: changes.name ?? vault.name,
      requiresPreconditions: changes.requiresPreconditions ?? vault.demands_preconditions,
      maxVersions: changes.maxVersions ?? vault.most_versions,
    };
    await updateVault(transaction, vaultRef, settings);
    const columns = {
      name: settings.name,
      demands_preconditions: settings.requiresPreconditions,
      most_versions: settings.maxVersions,
    };
    change.setColumns(columns);
    change.record({ type: "vault-changed", vault: vault.id, name: settings.name });
    return describeVaultDetail({ ...vault, ...columns });
  });
}

/** Preconditions on the vault refer to its revision before this change incremented it. */
export function vaultPreconditionTarget({ vault }: Pick<VaultChange, "vault">) {
  return { revision: vault.revision - 1, isRequired: vault.demands_preconditions };
}
