import { encrypt } from "@hearth-and-keep/envelope-crypto";
import { assertPathAllowed } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import { assertPreconditions, type PreconditionTarget } from "../preconditions.ts";
import type { ChangeDependencies, ChangeRequest, VaultChange } from "../vaults/change-vault.ts";
import { valueAssociatedData } from "./associated-data.ts";
import { actorName, changeSecrets, insertSecret, loadSecrets, updateSecret } from "./change-secret.ts";
import { describeSecret, type SecretMetadata } from "./describe-secret.ts";
import { createFolders } from "./folders/queries.ts";
import { countSecrets, type SecretRow, type SecretType } from "./queries.ts";
import type { SecretPath } from "./secret-path.ts";
import { assertValidValue } from "./value-content.ts";
import { insertVersion } from "./versions/queries.ts";

const maxSecrets = 10_000;

/** Omitted fields keep their current value; a new secret defaults to type text without tags. */
export type NewSecret = {
  readonly path: SecretPath;
  readonly value: Buffer;
  readonly type?: SecretType | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly note?: string | null | undefined;
  /** Called with the current state of the path; throws to refuse the write. */
  readonly check?: (target: PreconditionTarget) => void;
};

export type WriteResult = { readonly isNew: boolean; readonly secret: SecretMetadata };

/** Creates a secret, or adds a version to the one at the path. The result contains neither value nor note. */
export function writeSecret(
  { preconditions, ...request }: ChangeRequest,
  secret: NewSecret,
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<WriteResult>> {
  assertPathAllowed(request.actor.grant, secret.path.path);
  return changeSecrets(request, dependencies, (change) =>
    writeSecretInChange(change, { ...secret, check: (target) => assertPreconditions(preconditions, target) }),
  );
}

/**
 * As `writeSecret`, within the caller's change (`changeSecrets`), so that several writes are atomic. Stores, counts and
 * records; the caller has checked that the actor may write to the path.
 */
export async function writeSecretInChange(change: VaultChange, secret: NewSecret): Promise<WriteResult> {
  const [before] = await loadSecrets(change, secret.path);
  secret.check?.({ revision: before?.revision, isRequired: change.vault.demands_preconditions });
  const stored =
    before === undefined ? await createSecret(change, secret) : await addVersion(change, { before, secret });
  await change.record(
    { type: "secret-written", secret: stored.id, path: secret.path.path, version: stored.current_version },
    { id: stored.id, revision: stored.revision },
  );
  return { isNew: before === undefined, secret: describeSecret(stored) };
}

async function createSecret(change: VaultChange, secret: NewSecret): Promise<SecretRow> {
  const { path, value, type = "text", tags = [], note = null } = secret;
  await assertSecretQuota(change);
  await createFolders(change.transaction, change.vaultRef, path.folder);
  const { folder, name } = path;
  const inserted = await insertSecret(change, { folder, name, type, tags, note, size: value.length });
  await encryptVersion(change, inserted, value);
  return inserted;
}

/** Secrets the account may still create, cached per transaction because counting scans all of them. */
const remainingQuota = new WeakMap<VaultChange["transaction"], number>();

export async function assertSecretQuota({ transaction, vaultRef }: VaultChange, more = 1): Promise<void> {
  // Counts again before refusing: the same transaction may have deleted some.
  const cached = remainingQuota.get(transaction) ?? 0;
  const left =
    cached >= more ? cached : maxSecrets - (await countSecrets(transaction, vaultRef.accountId, maxSecrets));
  if (left < more) throw requestFailure({ kind: "quota-exceeded", resource: "secrets", max: maxSecrets });
  remainingQuota.set(transaction, left - more);
}

type NewVersionOf = {
  readonly before: SecretRow;
  readonly secret: Pick<NewSecret, "value" | "type" | "tags" | "note">;
};

/** Adds the next version to an existing secret. */
export async function addVersion(change: VaultChange, { before, secret }: NewVersionOf): Promise<SecretRow> {
  const maxVersions = change.vault.most_versions;
  if (before.current_version - before.destroyed_versions.length >= maxVersions) {
    throw requestFailure({ kind: "versions-full", max: maxVersions });
  }
  const stored = await updateSecret(change, before, {
    current_version: before.current_version + 1,
    type: secret.type ?? before.type,
    tags: secret.tags ?? before.tags,
    note: secret.note,
    size: secret.value.length,
  });
  await encryptVersion(change, stored, secret.value);
  return stored;
}

async function encryptVersion(change: VaultChange, secret: SecretRow, value: Buffer): Promise<void> {
  assertValidValue(value, secret.type);
  const { key, version: keyVersion } = await change.activeKey();
  const { id: secretId, current_version: version, type } = secret;
  const { vaultId } = change.vaultRef;
  await insertVersion(
    change.transaction,
    { ...change.vaultRef, secretId },
    {
      version,
      type,
      keyVersion,
      ciphertext: encrypt(value, key, valueAssociatedData({ vaultId, secretId, version, keyVersion, type })),
      size: value.length,
      by: actorName(change),
    },
  );
}
