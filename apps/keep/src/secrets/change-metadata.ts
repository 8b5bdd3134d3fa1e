import type { EgressRule } from "@hearth-and-keep/vault-contract";
import type { Actor } from "../authorization/actor.ts";
import {
  allowsWholeFolder,
  assertPathAllowed,
  assertScopeAllowed,
  type Grant,
} from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import { assertPreconditions } from "../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "../vaults/change-queue.ts";
import type { VaultChange } from "../vaults/open-changes.ts";
import {
  assertTargetAllowed,
  changeSecrets,
  loadSecret,
  type SecretChanges,
  type SecretTarget,
  updateSecret,
} from "./change-secret.ts";
import { describeSecret, type SecretMetadata } from "./describe-secret.ts";
import { formatEgressRule } from "./egress/egress-rule.ts";
import { listResolvingFolders } from "./environments/inherited-folders.ts";
import { createFolders } from "./folders/queries.ts";
import { findSecrets, type SecretRow } from "./queries.ts";
import { joinPath, type SecretPath, toSecretPath } from "./secret-path.ts";
import { decryptCurrent } from "./versions/decrypt-version.ts";
import { assertRelativeReferencesAllowed } from "./write-secret.ts";

export type MetadataChanges = {
  readonly target: SecretTarget;
  readonly name?: string | undefined;
  readonly folder?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly note?: string | null | undefined;
  readonly egress?: EgressRule | null | undefined;
};

/** Renames, moves, tags or annotates a secret, or sets its egress rule. Its id, versions and values do not change. */
export function updateMetadata(
  { preconditions, ...request }: ChangeRequest,
  { target, name, folder, tags, note, egress }: MetadataChanges,
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<SecretMetadata>> {
  const { actor, vaultId } = request;
  const reach = { scope: "secrets:write", vaultId } as const;
  assertTargetAllowed(actor, reach, target);
  return changeSecrets(request, dependencies, async (change) => {
    const before = await loadSecret(change, target, { actor, scope: reach.scope, state: "live" });
    const to = toSecretPath(folder ?? before.folder, name ?? before.name);
    assertPathAllowed(actor.grant, reach, to.path);
    if (egress !== undefined) assertRuleAllowed(actor, vaultId, { before, to });
    assertPreconditions(preconditions, {
      revision: before.revision,
      isRequired: change.vault.demands_preconditions,
    });
    const changes = {
      note,
      ...(tags === undefined ? {} : { tags }),
      ...(egress === undefined ? {} : { egress: formatEgressRule(egress) }),
    };
    return describeSecret(await moveSecret(change, before, { to, changes, grant: actor.grant }));
  });
}

/** Whoever chooses the hosts that get the value could have it sent to one of their own, so they must be allowed to read it. */
function assertRuleAllowed(
  { grant }: Pick<Actor, "grant">,
  vaultId: string,
  { before, to }: { readonly before: SecretRow; readonly to: SecretPath },
): void {
  const reach = { scope: "secrets:read", vaultId } as const;
  assertScopeAllowed(grant, reach);
  for (const path of [joinPath(before.folder, before.name), to.path]) assertPathAllowed(grant, reach, path);
}

type SecretMove = {
  readonly to: SecretPath;
  /** Of the actor. */
  readonly grant: Grant;
  readonly changes?: SecretChanges;
};

/** Stores and records the change; throws when another secret is at the new path. */
export async function moveSecret(
  change: VaultChange,
  before: SecretRow,
  { to, grant, changes = {} }: SecretMove,
): Promise<SecretRow> {
  if (to.path !== joinPath(before.folder, before.name)) {
    await assertPathFree(change, to);
    if (to.folder !== before.folder) await assertMovable(change, before, { to, grant });
    await createFolders(change.transaction, change.vaultRef, to.folder);
  }
  const { folder, name } = to;
  const stored = await updateSecret(change, before, { ...changes, folder, name });
  change.record(
    { type: "secret-changed", secret: stored.id, path: to.path },
    { id: stored.id, revision: stored.revision },
  );
  return stored;
}

/**
 * The value may have references that mean other secrets in the new folder, which the actor must be allowed to read. It is
 * decrypted only for an actor who may not read all of that folder.
 */
export async function assertMovable(
  change: VaultChange,
  before: SecretRow,
  { to: { folder }, grant }: Pick<SecretMove, "to" | "grant">,
): Promise<void> {
  const resolving = listResolvingFolders(change.vault, folder);
  const reach = { scope: "secrets:read", vaultId: change.vaultRef.vaultId } as const;
  if (before.type !== "text" || resolving.every((each) => allowsWholeFolder(grant, reach, each))) return;
  const value = await decryptCurrent(change, before);
  assertRelativeReferencesAllowed(change.vault, grant, { folder, value, type: before.type });
  value.fill(0);
}

export async function assertPathFree(
  { transaction, vaultRef }: VaultChange,
  path: SecretPath,
): Promise<void> {
  const [other] = await findSecrets(transaction, vaultRef, path);
  if (other === undefined) return;
  throw requestFailure({ kind: "conflict", reason: `A secret already exists at ${path.path}` });
}
