import { type AssociatedData, decrypt, encrypt, IntegrityError } from "@hearth-and-keep/envelope-crypto";
import type { BatchOperation } from "@hearth-and-keep/vault-contract";
import { requestFailure } from "../../failures.ts";
import type { ProposedChangeRow } from "../../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../../keys/server-keys.ts";
import type { DataKey } from "../../keys/vault-keys.ts";
import type { VaultDetailRow, VaultSettings } from "../../vaults/queries.ts";

/** What a change does. */
export type Proposal = {
  readonly operations: readonly BatchOperation[];
  readonly settings: Partial<VaultSettings>;
  /** With it, nothing else changes. */
  readonly vaultAction: "delete" | "restore" | null;
};

/** What a change does, and the state of the vault for which it was reviewed. */
export type ChangeContent = Proposal & {
  readonly seen: SeenState;
  /** From which it was proposed. */
  readonly address: string;
};

export type SeenState = {
  /** The revision of each secret that an operation names; 0 if it did not exist. */
  readonly secrets: readonly { readonly path: string; readonly revision: number }[];
  /** From `describeSettings`. */
  readonly settings: string;
};

/** The settings that decide what a change means. */
export function describeSettings(vault: VaultDetailRow): string {
  const { protected_paths, environments, base_folder, most_versions, prunes_versions } = vault;
  return JSON.stringify([protected_paths, environments, base_folder, most_versions, prunes_versions]);
}

/** The columns that identify a change; all others follow from them and the content. */
type ChangeIdentity = Omit<ProposedChangeRow, "fingerprint">;

/** Keyed, so that neither the database nor whoever may not read the values can test a guess of one. */
export function computeFingerprint(
  change: ChangeIdentity,
  content: ChangeContent,
  serverKeys: Pick<ServerKeys, "fingerprint">,
): Buffer {
  const { accountId, vaultId, id, reason, proposerKind, proposerId, personId, expiresAt } = change;
  return serverKeys.fingerprint([
    "proposed-change",
    accountId,
    vaultId,
    id,
    proposerKind,
    proposerId,
    personId ?? "",
    expiresAt.getTime(),
    reason,
    JSON.stringify(content),
  ]);
}

export function encryptContent(change: ChangeIdentity, content: ChangeContent, key: DataKey): Buffer {
  const plaintext = Buffer.from(JSON.stringify(content), "utf8");
  try {
    return encrypt(plaintext, key.key, contentAssociatedData(change, key.version));
  } finally {
    plaintext.fill(0);
  }
}

/** Throws "integrity-broken" unless it is what the fingerprint of the row was computed of. */
export function decryptContent(
  change: ProposedChangeRow,
  { ciphertext, key }: { readonly ciphertext: Buffer; readonly key: DataKey },
  serverKeys: Pick<ServerKeys, "fingerprint">,
): ChangeContent {
  const plaintext = decryptBytes(change, ciphertext, key);
  // Keep encrypted it, and the fingerprint is checked next.
  const content = JSON.parse(plaintext.toString("utf8")) as ChangeContent;
  plaintext.fill(0);
  if (computeFingerprint(change, content, serverKeys).equals(change.fingerprint)) return content;
  throw requestFailure({ kind: "integrity-broken" });
}

/** The same content under another data key. */
export function reencryptContent(
  change: ProposedChangeRow,
  { ciphertext, from, to }: { readonly ciphertext: Buffer; readonly from: DataKey; readonly to: DataKey },
): Buffer {
  const plaintext = decryptBytes(change, ciphertext, from);
  try {
    return encrypt(plaintext, to.key, contentAssociatedData(change, to.version));
  } finally {
    plaintext.fill(0);
  }
}

function decryptBytes(change: ProposedChangeRow, ciphertext: Buffer, key: DataKey): Buffer {
  try {
    return decrypt(ciphertext, key.key, contentAssociatedData(change, key.version));
  } catch (error) {
    if (error instanceof IntegrityError) throw requestFailure({ kind: "integrity-broken" }, { cause: error });
    throw error;
  }
}

function contentAssociatedData(
  { accountId, vaultId, id, proposerKind, proposerId, expiresAt }: ChangeIdentity,
  keyVersion: number,
): AssociatedData {
  const proposer = [proposerKind, proposerId] as const;
  return ["proposed-change", accountId, vaultId, id, ...proposer, expiresAt.getTime(), keyVersion];
}
