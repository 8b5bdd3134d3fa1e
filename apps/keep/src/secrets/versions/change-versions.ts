import { openSealed } from "@hearth-and-keep/envelope-crypto";
import { refuseUnlessMet } from "../../conditions.ts";
import { requestFailure } from "../../failures.ts";
import type { Changed } from "../../idempotency/change-once.ts";
import type { AskedChange, ChangeParts, VaultChange } from "../../vaults/change-vault.ts";
import { valuePlace } from "../associated-data.ts";
import { changeSecrets, storeSecret, takeSecret } from "../change-secret.ts";
import { describeSecret, type SecretMetadata } from "../describe-secret.ts";
import type { FoundSecret, SecretType } from "../queries.ts";
import { inSecret, SecretBroken } from "../secret-mac.ts";
import { joinPath } from "../secret-path.ts";
import { addVersion } from "../write-secret.ts";
import { destroyVersion, findVersion, type SealedVersion } from "./queries.ts";

export type WantedVersion = { readonly id: string; readonly version: number };

/** The value of an older version becomes that of a new one; the versions in between stay. */
export function restoreVersion(
  asked: AskedChange,
  { id, version }: WantedVersion,
  parts: ChangeParts,
): Promise<Changed<SecretMetadata>> {
  return changeSecrets(asked, parts, async (change) => {
    const { before, row } = await takeVersion(change, asked, { id, version });
    const { value, type } = await openVersion(change, before, row);
    const stored = await addVersion(change, { before, secret: { value, type } });
    value.fill(0);
    await change.record(
      {
        type: "version-restored",
        secret: id,
        path: joinPath(before.folder, before.name),
        version: stored.current_version,
      },
      { id, revision: stored.revision },
    );
    return describeSecret(stored);
  });
}

/** Takes the value away for good, and keeps that there was one. */
export async function destroyOldVersion(
  asked: AskedChange,
  { id, version }: WantedVersion,
  parts: ChangeParts,
): Promise<void> {
  await changeSecrets(asked, parts, async (change) => {
    const { before } = await takeVersion(change, asked, { id, version });
    if (version === before.current_version) {
      throw requestFailure({
        kind: "conflict",
        reason: "The current version cannot be destroyed: write a new one first, or delete the secret",
      });
    }
    await destroyVersion(change.transaction, { ...change.place, secretId: id }, version);
    const destroyed = [...before.destroyed_versions, version].toSorted((one, other) => one - other);
    const stored = await storeSecret(change, before, { destroyed_versions: destroyed });
    await change.record(
      { type: "version-destroyed", secret: id, path: joinPath(before.folder, before.name), version },
      { id, revision: stored.revision },
    );
    return null;
  });
}

async function takeVersion(
  change: VaultChange,
  { actor, conditions }: Pick<AskedChange, "actor" | "conditions">,
  { id, version }: WantedVersion,
): Promise<{ readonly before: FoundSecret; readonly row: SealedVersion }> {
  const before = await takeSecret(change, id, { actor, state: "live" });
  if (version > before.current_version || before.destroyed_versions.includes(version)) {
    throw requestFailure({ kind: "not-found" });
  }
  refuseUnlessMet(conditions, {
    revision: before.revision,
    isDemanded: change.vault.demands_preconditions,
  });
  const row = await findVersion(change.transaction, { ...change.place, secretId: id }, version);
  if (row === undefined) throw new SecretBroken(id);
  return { before, row };
}

async function openVersion(
  change: VaultChange,
  { id: secretId }: FoundSecret,
  { version, type, key_version: keyVersion, sealed }: SealedVersion,
): Promise<{ readonly value: Buffer; readonly type: SecretType }> {
  if (sealed === null) throw new SecretBroken(secretId);
  const { key } = await change.keyOf(keyVersion);
  const place = valuePlace({ vaultId: change.place.vaultId, secretId, version, keyVersion, type });
  return { value: inSecret(secretId, () => openSealed(sealed, key, place)), type };
}
