import { createHash } from "node:crypto";
import { checkMark, markPlace, type Place, SealBroken } from "@hearth-and-keep/envelope-crypto";
import type { DataKey } from "../keys/vault-keys.ts";
import type { SecretRow } from "./queries.ts";

/** Every column of a secret's row that decides what is read. */
export type MarkedColumns = Pick<
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
  | "destroyed_versions"
  | "deleted_at"
>;

/** A row that is not what was stored here: changed, moved, or put back to what it once was. */
export class SecretBroken extends Error {
  override readonly name = "SecretBroken";
  readonly secretId: string;

  constructor(secretId: string, options?: ErrorOptions) {
    super("A stored secret is not what was stored", options);
    this.secretId = secretId;
  }
}

/** By the data key that the row names; whoever seals a row anew makes its mark anew. */
export function makeMark(vaultId: string, row: MarkedColumns, { markKey }: DataKey): Buffer {
  return markPlace(markKey, markedPlace(vaultId, row));
}

export type StandingRow = MarkedColumns & {
  readonly mark: Buffer;
  readonly vault_revision: number;
  /** The newest revision of this secret in the vault's audit chain. */
  readonly audited_revision: number | null;
};

/** Throws SecretBroken unless the row is as it was stored last. */
export function refuseUnlessStanding(vaultId: string, row: StandingRow, { markKey }: DataKey): void {
  if (row.revision !== row.audited_revision || row.revision > row.vault_revision) {
    throw new SecretBroken(row.id);
  }
  inSecret(row.id, () => checkMark(row.mark, markKey, markedPlace(vaultId, row)));
}

/** A seal that does not open is a broken secret. */
export function inSecret<Result>(secretId: string, work: () => Result): Result {
  try {
    return work();
  } catch (problem) {
    if (problem instanceof SealBroken) throw new SecretBroken(secretId, { cause: problem });
    throw problem;
  }
}

/** A data key that is not there, or does not unwrap, is a broken secret too. */
export async function keyInSecret(secretId: string, asking: Promise<DataKey>): Promise<DataKey> {
  try {
    return await asking;
  } catch (problem) {
    if (problem instanceof SealBroken) throw new SecretBroken(secretId, { cause: problem });
    throw problem;
  }
}

function markedPlace(vaultId: string, row: MarkedColumns): Place {
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
  ];
}
