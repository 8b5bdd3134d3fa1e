import type { Place } from "@hearth-and-keep/envelope-crypto";
import type { SecretType } from "./queries.ts";

export type ValueCoordinates = {
  readonly vaultId: string;
  readonly secretId: string;
  readonly version: number;
  readonly keyVersion: number;
  readonly type: SecretType;
};

/** Not the path: what is moved keeps its values as they are. */
export function valuePlace({ vaultId, secretId, version, keyVersion, type }: ValueCoordinates): Place {
  return ["secret-value", vaultId, secretId, version, keyVersion, type];
}

/** Which of a secret's notes is the newest, the mark says, which is made over the sealed note too. */
export function notePlace(vaultId: string, secretId: string, keyVersion: number): Place {
  return ["secret-note", vaultId, secretId, keyVersion];
}
