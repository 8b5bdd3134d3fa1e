import { allowsWholeFolder, assertFolderAllowed, type Grant } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import { assertPreconditions } from "../preconditions.ts";
import { assertSettingsChangeable, prunesMore } from "../secrets/approvals/protection.ts";
import type { ChangeDependencies, ChangeRequest } from "./change-queue.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import type { VaultChange } from "./open-changes.ts";
import { isOrganisation, updateVault, type VaultSettings } from "./queries.ts";

/** Omitted settings keep their value. They apply to every secret, so a token restricted to paths may not change them. */
export function updateSettings(
  { preconditions, ...request }: ChangeRequest,
  changes: Partial<VaultSettings>,
  { changeQueue }: Pick<ChangeDependencies, "changeQueue">,
): Promise<IdempotentResult<VaultDetail>> {
  assertFolderAllowed(request.actor.grant, { scope: "vaults:write", vaultId: request.vaultId }, "/");
  return changeQueue.run(request, (change) => {
    assertPreconditions(preconditions, vaultPreconditionTarget(change));
    return updateSettingsInChange(change, { changes, grants: [request.actor.grant] });
  });
}

type SettingsUpdate = {
  readonly changes: Partial<VaultSettings>;
  /** Of everybody who must be allowed to make the change. */
  readonly grants: readonly Grant[];
};

/** As `updateSettings`, within the caller's change, which has checked that the whole vault may be changed. */
export async function updateSettingsInChange(
  change: VaultChange,
  { changes, grants }: SettingsUpdate,
): Promise<VaultDetail> {
  const { vault, vaultRef, transaction } = change;
  const settings = {
    name: changes.name ?? vault.name,
    requiresPreconditions: changes.requiresPreconditions ?? vault.demands_preconditions,
    maxVersions: changes.maxVersions ?? vault.most_versions,
    prunesVersions: changes.prunesVersions ?? vault.prunes_versions,
    environments: changes.environments ?? vault.environments,
    baseFolder: changes.baseFolder === undefined ? vault.base_folder : changes.baseFolder,
    protectedPaths: changes.protectedPaths ?? vault.protected_paths,
  };
  assertBaseApart(settings);
  // The next writes would destroy what the caller may not destroy itself.
  const reach = { scope: "secrets:destroy", vaultId: vault.id } as const;
  if (prunesMore(vault, settings) && !grants.every((grant) => allowsWholeFolder(grant, reach, "/")))
    throw requestFailure({ kind: "insufficient-scope", scope: reach.scope });
  await assertProtectable(change, settings);
  assertSettingsChangeable(change, settings);
  await updateVault(transaction, vaultRef, settings);
  const columns = {
    name: settings.name,
    demands_preconditions: settings.requiresPreconditions,
    most_versions: settings.maxVersions,
    prunes_versions: settings.prunesVersions,
    environments: settings.environments,
    base_folder: settings.baseFolder,
    protected_paths: settings.protectedPaths,
  };
  change.setColumns(columns);
  change.record({ type: "vault-changed", vault: vault.id, name: settings.name });
  return describeVaultDetail({ ...vault, ...columns });
}

function assertBaseApart({ environments, baseFolder }: VaultSettings): void {
  if (!environments.some((name) => `/${name}` === baseFolder)) return;
  const reason = "must not be one of the environments, which inherit from it";
  throw requestFailure({ kind: "request-invalid", errors: [{ field: "base", reason }] });
}

/** Only an organisation has a second person, who could approve anything. */
async function assertProtectable(
  { transaction, vaultRef }: VaultChange,
  { protectedPaths }: VaultSettings,
): Promise<void> {
  if (protectedPaths.length === 0 || (await isOrganisation(transaction, vaultRef.accountId))) return;
  const reason =
    "must be empty in a personal account, where nobody else could approve a change; use a vault of an organisation";
  throw requestFailure({ kind: "request-invalid", errors: [{ field: "protected_paths", reason }] });
}

/** Preconditions on the vault refer to its revision before this change incremented it. */
export function vaultPreconditionTarget({ vault }: Pick<VaultChange, "vault">) {
  return { revision: vault.revision - 1, isRequired: vault.demands_preconditions };
}
