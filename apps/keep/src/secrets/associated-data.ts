import type { AssociatedData } from "@hearth-and-keep/envelope-crypto";
import type { SecretType } from "./queries.ts";

export type ValueIdentity = {
  readonly vaultId: string;
  readonly secretId: string;
  readonly version: number;
  readonly keyVersion: number;
  readonly type: SecretType;
};

/** Leaves out the path, so that moving a secret does not require re-encrypting its values. */
export function valueAssociatedData({
  vaultId,
  secretId,
  version,
  keyVersion,
  type,
}: ValueIdentity): AssociatedData {
  return ["secret-value", vaultId, secretId, version, keyVersion, type];
}

/** Has no version: the secret's MAC covers the encrypted note, so an older note is detected by the MAC. */
export function noteAssociatedData(vaultId: string, secretId: string, keyVersion: number): AssociatedData {
  return ["secret-note", vaultId, secretId, keyVersion];
}
