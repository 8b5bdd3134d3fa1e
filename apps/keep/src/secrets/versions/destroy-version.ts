import type { VaultChange } from "../../vaults/open-changes.ts";
import { assertChangeable } from "../approvals/protection.ts";
import { updateSecret } from "../change-secret.ts";
import type { SecretRow } from "../queries.ts";
import { SecretIntegrityError } from "../secret-mac.ts";
import { joinPath } from "../secret-path.ts";
import { destroyVersion, type EncryptedVersion, findVersion } from "./queries.ts";

/** Deletes the value of an older version permanently, and records it; the caller has checked that it has one. */
export async function destroyVersionInChange(
  change: VaultChange,
  before: SecretRow,
  { version, sealed }: Pick<EncryptedVersion, "version" | "sealed">,
): Promise<SecretRow> {
  const { id } = before;
  assertChangeable(change, joinPath(before.folder, before.name));
  await destroyVersion(change.transaction, { ...change.vaultRef, secretId: id }, version);
  change.usage.storedBytes -= sealed?.length ?? 0;
  const destroyed = [...before.destroyed_versions, version].toSorted((one, other) => one - other);
  const stored = await updateSecret(change, before, { destroyed_versions: destroyed });
  change.record(
    { type: "version-destroyed", secret: id, path: joinPath(before.folder, before.name), version },
    { id, revision: stored.revision },
  );
  return stored;
}

/** Bounds the time for which one write locks the vault; further versions are destroyed by the next writes. */
const maxDestroyed = 100;

/** Makes room for one more version, as the vault's settings say: destroys the oldest ones. */
export async function pruneVersions(change: VaultChange, before: SecretRow): Promise<SecretRow> {
  const gone = new Set(before.destroyed_versions);
  const surplus = before.current_version - gone.size - change.vault.most_versions + 1;
  let stored = before;
  let remaining = Math.min(surplus, maxDestroyed);
  for (let version = 1; remaining > 0 && version <= before.current_version; version += 1) {
    if (gone.has(version)) continue;
    remaining -= 1;
    const row = await findVersion(change.transaction, { ...change.vaultRef, secretId: before.id }, version);
    if (row === undefined) throw new SecretIntegrityError(before.id);
    stored = await destroyVersionInChange(change, stored, row);
  }
  return stored;
}
