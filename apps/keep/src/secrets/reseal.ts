import { openSealed, seal } from "@hearth-and-keep/envelope-crypto";
import type { Transaction } from "../database/transaction.ts";
import type { DataKey, VaultKeys } from "../keys/vault-keys.ts";
import { notePlace, valuePlace } from "./associated-data.ts";
import { findSecrets, holdVault, resealRow, type SecretRow } from "./queries.ts";
import { inSecret, keyInSecret, makeMark, refuseUnlessStanding } from "./secret-mac.ts";
import {
  findVersion,
  listVersionsUnderOtherKeys,
  resealVersion,
  type SealedVersion,
  type SecretPlace,
} from "./versions/queries.ts";

export type ResealParts = {
  /** The key that everything of the secret is to be sealed with. */
  readonly to: DataKey;
  readonly vaultKeys: Pick<VaultKeys, "ofVersionWithin">;
};

/**
 * Seals a secret's versions and note with another data key of its vault, and makes its mark anew. Nothing that anybody
 * can see changes, so the revision and the audit chain stay. Waits for changes of the vault that are under way. Gives
 * the number of rows it sealed; none when the secret is gone or done already. A row that is not what was stored throws
 * SecretBroken: it is never vouched for by a new mark.
 */
export async function resealSecret(
  transaction: Transaction,
  place: SecretPlace,
  { to, vaultKeys }: ResealParts,
): Promise<number> {
  await holdVault(transaction, place);
  const [secret] = await findSecrets(transaction, place, { id: place.secretId });
  if (secret === undefined) return 0;
  const keyOf = (version: number) =>
    keyInSecret(place.secretId, vaultKeys.ofVersionWithin(transaction, place, version));
  const from = await keyOf(secret.key_version);
  refuseUnlessStanding(place.vaultId, secret, from);
  const versions = await listVersionsUnderOtherKeys(transaction, place, to.version);
  // One at a time: a file's versions together may be larger than what this node wants to hold.
  for (const version of versions) {
    const row = await findVersion(transaction, place, version);
    if (row === undefined) continue;
    const older = await keyOf(row.key_version);
    const sealed = resealValue(place, row, { older, to });
    await resealVersion(transaction, place, { version, keyVersion: to.version, sealed });
  }
  if (secret.key_version === to.version) return versions.length;
  const resealed = {
    ...secret,
    key_version: to.version,
    note_sealed: resealNote(place.vaultId, secret, { older: from, to }),
  };
  await resealRow(transaction, place, { ...resealed, mark: makeMark(place.vaultId, resealed, to) });
  return versions.length + 1;
}

type Keys = { readonly older: DataKey; readonly to: DataKey };

function resealValue(
  { vaultId, secretId }: SecretPlace,
  { version, type, sealed }: SealedVersion,
  { older, to }: Keys,
): Buffer | null {
  if (sealed === null) return null;
  const placeUnder = (keyVersion: number) => valuePlace({ vaultId, secretId, version, keyVersion, type });
  const value = inSecret(secretId, () => openSealed(sealed, older.key, placeUnder(older.version)));
  try {
    return seal(value, to.key, placeUnder(to.version));
  } finally {
    value.fill(0);
  }
}

function resealNote(
  vaultId: string,
  { id, note_sealed: sealed }: SecretRow,
  { older, to }: Keys,
): Buffer | null {
  if (sealed === null) return null;
  const note = inSecret(id, () => openSealed(sealed, older.key, notePlace(vaultId, id, older.version)));
  return seal(note, to.key, notePlace(vaultId, id, to.version));
}
