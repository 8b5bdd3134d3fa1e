import type { AuditEvent } from "../audit/events.ts";
import { assertFolderAllowed, type Reach } from "../authorization/grant.ts";
import { notifyNodes } from "../cluster/queries.ts";
import { requestFailure } from "../failures.ts";
import { type IdempotentResult, runIdempotent } from "../idempotency/run-idempotent.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import { assertPreconditions } from "../preconditions.ts";
import { assertVaultChangeable } from "../secrets/approvals/protection.ts";
import type { ChangeDependencies, ChangeRequest, QueueDependencies } from "./change-queue.ts";
import { vaultPreconditionTarget } from "./change-settings.ts";
import { assertVaultQuota } from "./create-vault.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { changeInTransaction, type VaultChange, type VaultState } from "./open-changes.ts";
import { deleteVaultRows, isVaultPurgeDue, setVaultDeletion } from "./queries.ts";

/** How long a soft-deleted vault can be restored. */
const retentionDays = 30;

/** Soft delete: hidden at once, purged after the retention period. */
export async function deleteVault(request: ChangeRequest, dependencies: ChangeDependencies): Promise<void> {
  const context = { dependencies, state: "live", scopes: ["vaults:delete"] } as const;
  await changeVaultInState(request, context, async (change) => {
    assertPreconditions(request.preconditions, vaultPreconditionTarget(change));
    await deleteVaultInChange(change);
    return null;
  });
}

/** As `deleteVault`, within the caller's change. */
export async function deleteVaultInChange(change: VaultChange): Promise<void> {
  assertNotPersonal(change);
  assertVaultChangeable(change);
  await setVaultDeletion(change.transaction, change.vaultRef, retentionDays);
  change.setColumns({ deleted_at: new Date() });
  recordOnBothChains(change, { type: "vault-deleted", vault: change.vaultRef.vaultId });
}

/** Deletes permanently, whether live or soft-deleted. Without its keys, no copy of its data can be decrypted. */
export async function purgeVault(request: ChangeRequest, dependencies: ChangeDependencies): Promise<void> {
  const context = { dependencies, state: "any", scopes: ["vaults:delete", "secrets:destroy"] } as const;
  await changeVaultInState(request, context, async (change) => {
    assertNotPersonal(change);
    assertPreconditions(request.preconditions, vaultPreconditionTarget(change));
    await purge(change);
    return null;
  });
}

/** Run by the server after the retention period. False when the vault was restored or is already gone. */
export function purgeExpiredVault(vaultRef: VaultRef, dependencies: QueueDependencies): Promise<boolean> {
  return dependencies.database.inAccount(vaultRef.accountId, async (transaction) => {
    if (!(await isVaultPurgeDue(transaction, vaultRef))) return false;
    return changeInTransaction(
      transaction,
      { vaultRef, by: "server", state: "deleted", dependencies },
      async (change) => {
        await purge(change);
        return true;
      },
    );
  });
}

export function restoreVault(
  request: ChangeRequest,
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<VaultDetail>> {
  const context = { dependencies, state: "deleted", scopes: ["vaults:write"] } as const;
  return changeVaultInState(request, context, async (change) => {
    assertPreconditions(request.preconditions, vaultPreconditionTarget(change));
    return restoreVaultInChange(change);
  });
}

/** As `restoreVault`, within the caller's change. */
export async function restoreVaultInChange(change: VaultChange): Promise<VaultDetail> {
  assertVaultChangeable(change);
  await assertVaultQuota(change.transaction, change.vaultRef.accountId);
  await setVaultDeletion(change.transaction, change.vaultRef, null);
  change.setColumns({ deleted_at: null });
  recordOnBothChains(change, { type: "vault-restored", vault: change.vaultRef.vaultId });
  return describeVaultDetail({ ...change.vault, deleted_at: null });
}

type StateContext = {
  readonly dependencies: ChangeDependencies;
  readonly state: VaultState;
  readonly scopes: readonly Reach["scope"][];
};

/** Affects every secret of the vault, so a token restricted to paths may not do it. */
function changeVaultInState<Result>(
  { actor, vaultId, idempotencyKey }: ChangeRequest,
  { dependencies, state, scopes }: StateContext,
  work: (change: VaultChange) => Promise<Result>,
): Promise<IdempotentResult<Result>> {
  for (const scope of scopes) assertFolderAllowed(actor.grant, { scope, vaultId }, "/");
  const vaultRef = { accountId: actor.accountId, vaultId };
  return runIdempotent(dependencies.database, { actor, idempotencyKey }, (transaction) =>
    changeInTransaction(transaction, { vaultRef, by: actor, state, dependencies }, work),
  );
}

function assertNotPersonal({ vault }: VaultChange): void {
  if (vault.kind !== "personal") return;
  throw requestFailure({ kind: "conflict", reason: "The personal vault is deleted only with its account" });
}

async function purge(change: VaultChange): Promise<void> {
  assertVaultChangeable(change);
  recordOnBothChains(change, { type: "vault-purged", vault: change.vaultRef.vaultId });
  await deleteVaultRows(change.transaction, change.vaultRef);
  const { accountId, vaultId } = change.vaultRef;
  await notifyNodes(change.transaction, accountId, [{ kind: "vault", subjectId: vaultId }]);
}

/** On the account's chain too, because a deleted vault's own chain cannot be read through the API. */
function recordOnBothChains(change: VaultChange, event: AuditEvent): void {
  change.record(event);
  change.recordOnAccount(event);
}
