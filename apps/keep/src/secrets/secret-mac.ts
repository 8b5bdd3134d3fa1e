import { createHash } from "node:crypto";
import { type AssociatedData, computeMac, IntegrityError, verifyMac } from "@hearth-and-keep/envelope-crypto";
import type { DataKey } from "../keys/vault-keys.ts";
import type { SecretRow, SecretType } from "./queries.ts";

/** Every column of a secret's row that affects what is read; all are covered by the MAC. */
export type AuthenticatedColumns = Pick<
  SecretRow,
  | "id"
  | "folder"
  | "name"
  | "type"
  | "current_version"
  | "revision"
  | "key_version"
  | "tags"
  | "note_sealed"
  | "egress"
  | "destroyed_versions"
  | "deleted_at"
>;

/** A stored row was modified, moved or rolled back outside Keep. */
export class SecretIntegrityError extends Error {
  override readonly name = "SecretIntegrityError";
  readonly secretId: string;

  constructor(secretId: string, options?: ErrorOptions) {
    super("A stored secret failed its integrity check", options);
    this.secretId = secretId;
  }
}

/** HMAC over the row, keyed by the data key that the row names; every update of the row recomputes it. */
export function computeSecretMac(vaultId: string, row: AuthenticatedColumns, { macKey }: DataKey): Buffer {
  return computeMac(macKey, macInput(vaultId, row));
}

/**
 * Throws SecretIntegrityError for a row that was modified or moved outside Keep. An older row of the same secret has a
 * valid MAC too; the vault's head detects that one.
 */
export function assertGenuine(
  vaultId: string,
  row: AuthenticatedColumns & { readonly mark: Buffer },
  { macKey }: DataKey,
): void {
  wrapIntegrityError(row.id, () => verifyMac(row.mark, macKey, macInput(vaultId, row)));
}

/** Rethrows a failed decryption or MAC check as an error that names the secret. */
export function wrapIntegrityError<Result>(secretId: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof IntegrityError) throw new SecretIntegrityError(secretId, { cause: error });
    throw error;
  }
}

/** The same for a data key that is missing or cannot be unwrapped, and for a vault's head. */
export async function wrapLoadError<Result>(secretId: string, loading: Promise<Result>): Promise<Result> {
  try {
    return await loading;
  } catch (error) {
    if (error instanceof IntegrityError) throw new SecretIntegrityError(secretId, { cause: error });
    throw error;
  }
}

function macInput(vaultId: string, row: AuthenticatedColumns): AssociatedData {
  return [
    "secret",
    vaultId,
    row.id,
    row.folder,
    row.name,
    row.type,
    row.current_version,
    row.revision,
    row.key_version,
    row.deleted_at === null ? "live" : "deleted",
    row.destroyed_versions.join(),
    JSON.stringify(row.tags),
    row.note_sealed === null ? "" : createHash("sha256").update(row.note_sealed).digest("hex"),
    // Nothing without a rule, as in rows from before there were rules.
    ...(row.egress === null ? [] : [row.egress]),
  ];
}

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
