import type { Reach } from "../../authorization/grant.ts";
import { requestFailure } from "../../failures.ts";
import type { IdempotentResult } from "../../idempotency/run-idempotent.ts";
import { assertPreconditions } from "../../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "../../vaults/change-queue.ts";
import type { VaultChange } from "../../vaults/open-changes.ts";
import { changeSecrets, loadSecret } from "../change-secret.ts";
import { describeSecret, type SecretMetadata } from "../describe-secret.ts";
import type { SecretForUpdate, SecretType } from "../queries.ts";
import { SecretIntegrityError } from "../secret-mac.ts";
import { joinPath } from "../secret-path.ts";
import {
  addVersion,
  assertInheritedReferencesAllowed,
  assertReferencesAllowed,
  assertRelativeReferencesAllowed,
} from "../write-secret.ts";
import { decryptVersion } from "./decrypt-version.ts";
import { destroyVersionInChange } from "./destroy-version.ts";
import { type EncryptedVersion, findVersion } from "./queries.ts";

export type VersionRef = { readonly id: string; readonly version: number };

type VersionUse = Pick<ChangeRequest, "actor" | "preconditions"> & { readonly scope: Reach["scope"] };

/** Adds a new version with the value of an older one; the versions in between stay. */
export function restoreVersion(
  request: ChangeRequest,
  { id, version }: VersionRef,
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<SecretMetadata>> {
  return changeSecrets(request, dependencies, async (change) => {
    const use = { ...request, scope: "secrets:write" } as const;
    const { before, row } = await loadVersion(change, use, { id, version });
    const { value, type } = await decryptVersion(change, before, row);
    assertMayRefer(change, request, { folder: before.folder, value, type });
    const stored = await addVersion(change, { before, secret: { value, type } });
    value.fill(0);
    change.record(
      {
        type: "version-restored",
        secret: id,
        path: joinPath(before.folder, before.name),
        version: stored.current_version,
        from: version,
      },
      { id, revision: stored.revision },
    );
    return describeSecret(stored);
  });
}

type RestoredValue = {
  readonly folder: string;
  readonly value: Buffer;
  readonly type: SecretType;
};

/**
 * As for a new value: somebody else may have written it, with references that whoever restores it may not write. Relative
 * ones may have meant other secrets, in another folder.
 */
function assertMayRefer(
  { vault }: VaultChange,
  { actor, vaultId }: Pick<ChangeRequest, "actor" | "vaultId">,
  restored: RestoredValue,
): void {
  assertReferencesAllowed(actor, vaultId, restored);
  assertRelativeReferencesAllowed(vault, actor.grant, restored);
  assertInheritedReferencesAllowed(vault, actor.grant, restored);
}

/** Deletes the value permanently; the version stays in the list as destroyed. */
export async function destroyOldVersion(
  request: ChangeRequest,
  { id, version }: VersionRef,
  dependencies: ChangeDependencies,
): Promise<void> {
  await changeSecrets(request, dependencies, async (change) => {
    const use = { ...request, scope: "secrets:destroy" } as const;
    const { before, row } = await loadVersion(change, use, { id, version });
    if (version === before.current_version) {
      throw requestFailure({
        kind: "conflict",
        reason: "The current version cannot be destroyed; write a new version first, or delete the secret",
      });
    }
    await destroyVersionInChange(change, before, row);
    return null;
  });
}

async function loadVersion(
  change: VaultChange,
  { actor, scope, preconditions }: VersionUse,
  { id, version }: VersionRef,
): Promise<{ readonly before: SecretForUpdate; readonly row: EncryptedVersion }> {
  const before = await loadSecret(change, { id }, { actor, scope, state: "live" });
  if (version > before.current_version || before.destroyed_versions.includes(version)) {
    throw requestFailure({ kind: "not-found" });
  }
  assertPreconditions(preconditions, {
    revision: before.revision,
    isRequired: change.vault.demands_preconditions,
  });
  const row = await findVersion(change.transaction, { ...change.vaultRef, secretId: id }, version);
  if (row === undefined) throw new SecretIntegrityError(id);
  return { before, row };
}
