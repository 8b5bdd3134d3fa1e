import { encrypt } from "@hearth-and-keep/envelope-crypto";
import type { Actor } from "../authorization/actor.ts";
import { allowsPath, assertPathAllowed, assertScopeAllowed, type Grant } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import type { IdempotentResult } from "../idempotency/run-idempotent.ts";
import { assertPreconditions, type PreconditionTarget } from "../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "../vaults/change-queue.ts";
import type { VaultChange } from "../vaults/open-changes.ts";
import type { VaultDetailRow } from "../vaults/queries.ts";
import { actorName, changeSecrets, loadSecrets, prepareSecret, prepareUpdate } from "./change-secret.ts";
import { describeSecret, type SecretMetadata } from "./describe-secret.ts";
import {
  type EnvironmentSettings,
  findInheritance,
  listResolvingFolders,
  toBasePath,
} from "./environments/inherited-folders.ts";
import { decodeUtf8 } from "./exchange/file-entries.ts";
import { listReferences, listRelativeReferences } from "./exchange/references.ts";
import { createFolders } from "./folders/queries.ts";
import {
  insertSecretRow,
  type SecretRow,
  type SecretType,
  type StoredSecret,
  updateSecretRow,
} from "./queries.ts";
import { valueAssociatedData } from "./secret-mac.ts";
import type { SecretPath } from "./secret-path.ts";
import { assertValidValue } from "./value-content.ts";
import { pruneVersions } from "./versions/destroy-version.ts";
import { insertVersion, type NewVersion } from "./versions/queries.ts";

/** Omitted fields keep their current value; a new secret defaults to type text without tags. */
export type NewSecret = {
  readonly path: SecretPath;
  readonly value: Buffer;
  readonly type?: SecretType | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly note?: string | null | undefined;
  /** Of the writer, who must be allowed to read what the value refers to. */
  readonly grant: Grant;
  /** Called with the current state of the path; throws to refuse the write. */
  readonly check?: (target: PreconditionTarget) => void;
};

export type WriteResult = { readonly isNew: boolean; readonly secret: SecretMetadata };

/** Creates a secret, or adds a version to the one at the path. The result contains neither value nor note. */
export function writeSecret(
  { preconditions, ...request }: ChangeRequest,
  secret: Omit<NewSecret, "grant" | "check">,
  dependencies: ChangeDependencies,
): Promise<IdempotentResult<WriteResult>> {
  const { grant } = request.actor;
  assertPathAllowed(grant, { scope: "secrets:write", vaultId: request.vaultId }, secret.path.path);
  const { value, type } = secret;
  assertReferencesAllowed(request.actor, request.vaultId, { value, type });
  return changeSecrets({ ...request, onlyPath: secret.path.path }, dependencies, (change) =>
    writeSecretInChange(change, {
      ...secret,
      grant,
      check: (target) => assertPreconditions(preconditions, target),
    }),
  );
}

/**
 * As `writeSecret`, within the caller's change (`changeSecrets`), so that several writes are atomic. Stores, counts and
 * records; the caller has checked that the actor may write to the path.
 */
export async function writeSecretInChange(change: VaultChange, secret: NewSecret): Promise<WriteResult> {
  const [before] = await loadSecrets(change, secret.path);
  secret.check?.({ revision: before?.revision, isRequired: change.vault.demands_preconditions });
  const { value, path, grant, type = before?.type ?? "text" } = secret;
  assertValidValue(value, type);
  assertRelativeReferencesAllowed(change.vault, grant, { folder: path.folder, value, type });
  assertInheritedReferencesAllowed(change.vault, grant, { value, type });
  const stored =
    before === undefined ? await createSecret(change, secret) : await addVersion(change, { before, secret });
  change.record(
    { type: "secret-written", secret: stored.id, path: secret.path.path, version: stored.current_version },
    { id: stored.id, revision: stored.revision },
  );
  return { isNew: before === undefined, secret: describeSecret(stored) };
}

async function createSecret(change: VaultChange, secret: NewSecret): Promise<SecretRow> {
  const { path, value, type = "text", tags = [], note = null } = secret;
  const { transaction, vaultRef } = change;
  assertSecretQuota(change, { live: 1, all: 1 });
  const { folder, name } = path;
  const row = await prepareSecret(change, { folder, name, type, tags, note, size: value.length });
  const version = await encryptVersion(change, row, value);
  change.usage.liveSecrets += 1;
  change.usage.allSecrets += 1;
  // Sent together, and run in this order.
  const [, dates] = await Promise.all([
    createFolders(transaction, vaultRef, folder),
    insertSecretRow(transaction, vaultRef, row),
    insertVersion(transaction, { ...vaultRef, secretId: row.id }, version),
  ]);
  return { ...row, size: value.length, ...dates };
}

type NewVersionOf = {
  readonly before: SecretRow;
  readonly secret: Pick<NewSecret, "value" | "type" | "tags" | "note">;
};

/** Adds the next version to an existing secret; the value of the version before may be destroyed. */
export async function addVersion(
  change: VaultChange,
  { before: found, secret }: NewVersionOf,
): Promise<SecretRow> {
  const { most_versions: maxVersions, prunes_versions: isPruned } = change.vault;
  const isFull = found.current_version - found.destroyed_versions.length >= maxVersions;
  if (isFull && !isPruned) throw requestFailure({ kind: "versions-full", max: maxVersions });
  const before = isFull ? await pruneVersions(change, found) : found;
  const { row, daysLeft } = await prepareUpdate(change, before, {
    current_version: before.current_version + 1,
    type: secret.type ?? before.type,
    tags: secret.tags ?? before.tags,
    note: secret.note,
    size: secret.value.length,
  });
  const version = await encryptVersion(change, row, secret.value);
  const { transaction, vaultRef } = change;
  const [dates] = await Promise.all([
    updateSecretRow(transaction, vaultRef, { ...row, daysLeft }),
    insertVersion(transaction, { ...vaultRef, secretId: row.id }, version),
  ]);
  return { ...row, ...dates };
}

/** The secret's current version, with this value. */
async function encryptVersion(
  change: VaultChange,
  { id: secretId, current_version: version, type }: StoredSecret,
  value: Buffer,
): Promise<NewVersion> {
  const { key, version: keyVersion } = await change.activeKey();
  const { vaultId } = change.vaultRef;
  const associatedData = valueAssociatedData({ vaultId, secretId, version, keyVersion, type });
  const ciphertext = encrypt(value, key, associatedData);
  reserveBytes(change, ciphertext.length);
  return { version, type, keyVersion, ciphertext, size: value.length, by: actorName(change) };
}

const maxLiveSecrets = 10_000;
/** Deleted secrets stay for 30 days, so without this limit they could grow without bound. */
const maxAllSecrets = 20_000;
/** Ciphertexts of all versions, also of deleted secrets. */
const maxStoredBytes = 1024 ** 3;

/** Throws unless the account may have this many more secrets. A restored one is already counted among all. */
export function assertSecretQuota(
  { usage }: Pick<VaultChange, "usage">,
  more: { readonly live: number; readonly all: number },
): void {
  if (usage.liveSecrets + more.live > maxLiveSecrets) {
    throw requestFailure({ kind: "quota-exceeded", resource: "secrets", max: maxLiveSecrets });
  }
  if (usage.allSecrets + more.all > maxAllSecrets) {
    const resource = "secrets including deleted ones (purge some)";
    throw requestFailure({ kind: "quota-exceeded", resource, max: maxAllSecrets });
  }
}

/** Throws unless the account may store this many more bytes, and counts them. */
export function reserveBytes({ usage }: Pick<VaultChange, "usage">, bytes: number): void {
  if (usage.storedBytes + bytes > maxStoredBytes) {
    const resource = "stored bytes, with all versions and deleted secrets (destroy or purge some)";
    throw requestFailure({ kind: "quota-exceeded", resource, max: maxStoredBytes });
  }
  usage.storedBytes += bytes;
}

type WrittenValue = { readonly value: Buffer; readonly type: SecretType | undefined };

/**
 * A value may refer only to secrets that its writer may read. Otherwise a token without access could plant a reference
 * in a value whose use it observes, and a reader with access would put the secret there.
 */
export function assertReferencesAllowed(
  { grant }: Pick<Actor, "grant">,
  vaultId: string,
  { value, type = "text" }: WrittenValue,
): void {
  if (type !== "text" || !value.includes("${")) return;
  const text = decodeUtf8(value) ?? "";
  for (const target of listReferences(vaultId, text)) {
    assertScopeAllowed(grant, { scope: "secrets:read", vaultId });
    if (!allowsPath(grant, { scope: "secrets:read", vaultId: target.vaultId }, target.path))
      throw requestFailure({ kind: "out-of-reach", path: target.path });
  }
}

type InheritingVault = EnvironmentSettings & Pick<VaultDetailRow, "id">;

type PlacedValue = { readonly folder: string; readonly value: Buffer; readonly type: SecretType };

/** The same for references that depend on the folder, wherever inheritance can make them resolve. */
export function assertRelativeReferencesAllowed(
  vault: InheritingVault,
  grant: Grant,
  { folder, value, type }: PlacedValue,
): void {
  if (type !== "text" || !value.includes("${./")) return;
  const text = decodeUtf8(value) ?? "";
  const paths = listResolvingFolders(vault, folder).flatMap((each) => listRelativeReferences(each, text));
  const reach = { scope: "secrets:read", vaultId: vault.id } as const;
  if (paths.length > 0) assertScopeAllowed(grant, reach);
  for (const path of paths) assertPathAllowed(grant, reach, path);
}

/** The same for what stands in for a missing secret of an environment. */
export function assertInheritedReferencesAllowed(
  vault: InheritingVault,
  grant: Grant,
  { value, type }: Omit<PlacedValue, "folder">,
): void {
  if (type !== "text" || vault.base_folder === null || !value.includes("${")) return;
  for (const target of listReferences(vault.id, decodeUtf8(value) ?? "")) {
    const inheritance = target.vaultId === vault.id ? findInheritance(vault, target.path) : undefined;
    const path = inheritance && toBasePath(inheritance, target.path);
    if (path !== undefined) assertPathAllowed(grant, { scope: "secrets:read", vaultId: vault.id }, path);
  }
}
