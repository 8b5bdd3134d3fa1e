import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import { assertPreconditions, type Preconditions } from "../preconditions.ts";
import type { ChangeDependencies, ChangeRequest, QueueDependencies } from "../vaults/change-queue.ts";
import { changeInTransaction, type VaultChange } from "../vaults/open-changes.ts";
import { assertChangeable } from "./approvals/protection.ts";
import { assertPathFree } from "./change-metadata.ts";
import {
  assertTargetAllowed,
  changeSecrets,
  loadSecret,
  type SecretTarget,
  updateSecret,
} from "./change-secret.ts";
import { describeSecret, type SecretMetadata } from "./describe-secret.ts";
import { createFolders } from "./folders/queries.ts";
import { deleteSecretRows, findSecrets, isSecretPurgeDue, type SecretRow } from "./queries.ts";
import { joinPath, toSecretPath } from "./secret-path.ts";
import type { SecretRef } from "./versions/queries.ts";
import { assertSecretQuota } from "./write-secret.ts";

/** Soft delete: hidden at once, purged after the retention period. */
export async function deleteSecret(
  request: ChangeRequest,
  target: SecretTarget,
  dependencies: ChangeDependencies,
): Promise<void> {
  const use = { actor: request.actor, scope: "secrets:delete", state: "live" } as const;
  assertTargetAllowed(use.actor, { scope: use.scope, vaultId: request.vaultId }, target);
  await changeSecrets(request, dependencies, async (change) => {
    const before = await loadSecret(change, target, use);
    checkPreconditions(request.preconditions, before, change);
    await deleteSecretInChange(change, before);
    return null;
  });
}

/** As `deleteSecret`, within the caller's change. */
export async function deleteSecretInChange(change: VaultChange, before: SecretRow): Promise<SecretRow> {
  const stored = await updateSecret(change, before, { state: "deleted" });
  const { id, revision } = stored;
  change.record(
    { type: "secret-deleted", secret: id, path: joinPath(stored.folder, stored.name) },
    { id, revision },
  );
  return stored;
}

/** Deletes permanently, whether the secret is live or already soft-deleted. */
export async function purgeSecret(
  request: ChangeRequest,
  target: SecretTarget,
  dependencies: ChangeDependencies,
): Promise<void> {
  const { actor, vaultId } = request;
  const use = { actor, scope: "secrets:destroy", state: "any" } as const;
  for (const scope of ["secrets:delete", use.scope] as const)
    assertTargetAllowed(actor, { scope, vaultId }, target);
  await changeSecrets(request, dependencies, async (change) => {
    const before = await loadSecret(change, target, use);
    checkPreconditions(request.preconditions, before, change);
    await purge(change, before);
    return null;
  });
}

/** Run by the server after the retention period. False when the secret was restored or is already gone. */
export function purgeExpiredSecret(secretRef: SecretRef, dependencies: QueueDependencies): Promise<boolean> {
  return dependencies.database.inAccount(secretRef.accountId, (transaction) =>
    changeInTransaction(
      transaction,
      { vaultRef: secretRef, by: "server", state: "any", dependencies },
      async (change) => {
        if (!(await isSecretPurgeDue(transaction, secretRef, secretRef.secretId))) return false;
        const [before] = await findSecrets(transaction, secretRef, { id: secretRef.secretId });
        if (before !== undefined) await purge(change, before);
        return true;
      },
    ),
  );
}

/** Restores the secret at its old path; throws when another secret is there. */
export function restoreSecret(
  request: ChangeRequest,
  id: string,
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<SecretMetadata>> {
  return changeSecrets(request, dependencies, async (change) => {
    const use = { actor: request.actor, scope: "secrets:write", state: "deleted" } as const;
    const before = await loadSecret(change, { id }, use);
    checkPreconditions(request.preconditions, before, change);
    const path = toSecretPath(before.folder, before.name);
    await assertPathFree(change, path);
    assertSecretQuota(change, { live: 1, all: 0 });
    await createFolders(change.transaction, change.vaultRef, before.folder);
    const stored = await updateSecret(change, before, { state: "live" });
    change.record(
      { type: "secret-restored", secret: id, path: path.path },
      { id, revision: stored.revision },
    );
    return describeSecret(stored);
  });
}

function checkPreconditions(
  preconditions: Preconditions,
  { revision }: SecretRow,
  { vault }: VaultChange,
): void {
  assertPreconditions(preconditions, { revision, isRequired: vault.demands_preconditions });
}

async function purge(change: VaultChange, { id, folder, name, deleted_at }: SecretRow): Promise<void> {
  assertChangeable(change, joinPath(folder, name));
  const { usage } = change;
  usage.storedBytes -= await deleteSecretRows(change.transaction, change.vaultRef, id);
  usage.allSecrets -= 1;
  if (deleted_at === null) usage.liveSecrets -= 1;
  change.head.setRevision(id, undefined);
  change.record(
    { type: "secret-purged", secret: id, path: joinPath(folder, name) },
    { id, revision: change.nextRevision() },
  );
}
