import type { Actor } from "../authorization/actor.ts";
import { assertFolderAllowed } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import { assertPreconditions } from "../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "./change-queue.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import type { VaultChange } from "./open-changes.ts";
import { updateVault, type VaultDetailRow, type VaultSettings } from "./queries.ts";

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
      prunesVersions: changes.prunesVersions ?? vault.prunes_versions,
      environments: changes.environments ?? vault.environments,
      baseFolder: changes.baseFolder === undefined ? vault.base_folder : changes.baseFolder,
    };
    assertBaseApart(settings);
    assertMayPrune(request.actor, settings, vault);
    await updateVault(transaction, vaultRef, settings);
    const columns = {
      name: settings.name,
      demands_preconditions: settings.requiresPreconditions,
      most_versions: settings.maxVersions,
      prunes_versions: settings.prunesVersions,
      environments: settings.environments,
      base_folder: settings.baseFolder,
    };
    change.setColumns(columns);
    change.record({ type: "vault-changed", vault: vault.id, name: settings.name });
    return describeVaultDetail({ ...vault, ...columns });
  });
}

function assertBaseApart({ environments, baseFolder }: VaultSettings): void {
  if (!environments.some((name) => `/${name}` === baseFolder)) return;
  const reason = "must not be one of the environments, which inherit from it";
  throw requestFailure({ kind: "request-invalid", errors: [{ field: "base", reason }] });
}

/** The next writes would destroy what the caller may not destroy itself. */
function assertMayPrune(
  { grant }: Pick<Actor, "grant">,
  { prunesVersions, maxVersions }: VaultSettings,
  vault: Pick<VaultDetailRow, "prunes_versions" | "most_versions">,
): void {
  const prunesMore = !vault.prunes_versions || maxVersions < vault.most_versions;
  if (prunesVersions && prunesMore && !grant.scopes.has("secrets:destroy")) {
    throw requestFailure({ kind: "insufficient-scope", scope: "secrets:destroy" });
  }
}

/** Preconditions on the vault refer to its revision before this change incremented it. */
export function vaultPreconditionTarget({ vault }: Pick<VaultChange, "vault">) {
  return { revision: vault.revision - 1, isRequired: vault.demands_preconditions };
}
