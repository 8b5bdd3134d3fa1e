import { refuseUnlessMet } from "../conditions.ts";
import type { Changed } from "../idempotency/change-once.ts";
import { type AskedChange, type ChangeParts, changeVault, type VaultChange } from "./change-vault.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { updateVault, type VaultSettings } from "./queries.ts";

/** What is left out stays as it was. */
export function changeSettings(
  { conditions, ...asked }: AskedChange,
  wanted: Partial<VaultSettings>,
  parts: ChangeParts,
): Promise<Changed<VaultDetail>> {
  return changeVault(asked, parts, async (change) => {
    const { vault, place, transaction } = change;
    refuseUnlessMet(conditions, vaultTarget(change));
    const settings = {
      name: wanted.name ?? vault.name,
      demandsPreconditions: wanted.demandsPreconditions ?? vault.demands_preconditions,
      mostVersions: wanted.mostVersions ?? vault.most_versions,
    };
    await updateVault(transaction, place, settings);
    await change.record({ type: "vault-changed", vault: vault.id, name: settings.name });
    return describeVaultDetail({
      ...vault,
      name: settings.name,
      demands_preconditions: settings.demandsPreconditions,
      most_versions: settings.mostVersions,
    });
  });
}

/** What conditions on the vault itself are held against: it as it was before this change was counted. */
export function vaultTarget({ vault }: Pick<VaultChange, "vault">) {
  return { revision: vault.revision - 1, isDemanded: vault.demands_preconditions };
}
