import type { Transaction } from "../../database/transaction.ts";
import type { ChangeDecision, ProposedChangeRow } from "../../keys/row-integrity/row-macs.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";

export type ChangeState = "pending" | "approved" | "rejected" | "withdrawn" | "expired";

/** A proposed change as stored, without what it does. */
export type StoredChange = ProposedChangeRow & {
  readonly state: ChangeState;
  readonly decidedAt: Date | null;
  readonly decidedBy: string | null;
  readonly mac: Buffer;
  /** When it was read, by the database's clock. */
  readonly readAt: Date;
  /** Bytes of what it does, encrypted; 0 once it is decided. */
  readonly sealedBytes: number;
};

const columns =
  'account_id AS "accountId", vault_id AS "vaultId", id, state, proposer_kind AS "proposerKind", proposer_id AS "proposerId", person_id AS "personId", barred_people AS "barredPeople", paths, is_vault_wide AS "isVaultWide", reason, operation_count AS "operationCount", fingerprint, proposed_at AS "proposedAt", expires_at AS "expiresAt", decided_at AS "decidedAt", decided_by AS "decidedBy", mac, now() AS "readAt", coalesce(octet_length(sealed), 0) AS "sealedBytes"';

type ChangeRef = VaultRef & { readonly id: string };

/** The pending changes of a vault, and the database's clock, which decides when a new one expires. */
export async function readPendingState(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<{ readonly count: number; readonly now: Date }> {
  const [row] = await transaction.query<{ count: number; now: Date }>({
    text: "SELECT count(*)::integer AS count, date_trunc('milliseconds', now()) AS now FROM proposed_change WHERE account_id = $1 AND vault_id = $2 AND state = 'pending' AND expires_at > now()",
    values: [accountId, vaultId],
  });
  if (row === undefined) throw new Error("Aggregate query returned no row");
  return row;
}

export type EncryptedContent = { readonly keyVersion: number; readonly ciphertext: Buffer };

export async function insertChange(
  transaction: Transaction,
  row: ProposedChangeRow & { readonly mac: Buffer },
  { keyVersion, ciphertext }: EncryptedContent,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO proposed_change (account_id, vault_id, id, proposer_kind, proposer_id, person_id, barred_people, paths, is_vault_wide, reason, operation_count, fingerprint, proposed_at, expires_at, mac, key_version, sealed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    values: [
      row.accountId,
      row.vaultId,
      row.id,
      row.proposerKind,
      row.proposerId,
      row.personId,
      row.barredPeople,
      row.paths,
      row.isVaultWide,
      row.reason,
      row.operationCount,
      row.fingerprint,
      row.proposedAt,
      row.expiresAt,
      row.mac,
      keyVersion,
      ciphertext,
    ],
  });
}

export async function findChange(
  transaction: Transaction,
  { accountId, vaultId, id }: ChangeRef,
): Promise<StoredChange | undefined> {
  const [row] = await transaction.query<StoredChange>({
    text: `SELECT ${columns} FROM proposed_change WHERE account_id = $1 AND vault_id = $2 AND id = $3`,
    values: [accountId, vaultId, id],
  });
  return row;
}

/** Undefined once the change is decided. */
export async function readEncryptedContent(
  transaction: Transaction,
  { accountId, vaultId, id }: ChangeRef,
): Promise<EncryptedContent | undefined> {
  const [row] = await transaction.query<EncryptedContent>({
    text: `SELECT key_version AS "keyVersion", sealed AS ciphertext FROM proposed_change WHERE account_id = $1 AND vault_id = $2 AND id = $3 AND sealed IS NOT NULL`,
    values: [accountId, vaultId, id],
  });
  return row;
}

/** Also those that have expired. */
export function listPendingChanges(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<readonly StoredChange[]> {
  return transaction.query<StoredChange>({
    text: `SELECT ${columns} FROM proposed_change WHERE account_id = $1 AND vault_id = $2 AND state = 'pending' ORDER BY id`,
    values: [accountId, vaultId],
  });
}

type ChangePage = {
  readonly isDecided: boolean;
  readonly before: string | null;
  readonly limit: number;
};

/** Newest first; without pending ones that have expired. */
export function listChanges(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { isDecided, before, limit }: ChangePage,
): Promise<readonly StoredChange[]> {
  return transaction.query<StoredChange>({
    text: `SELECT ${columns} FROM proposed_change WHERE account_id = $1 AND vault_id = $2 AND CASE WHEN $3 THEN state <> 'pending' ELSE state = 'pending' AND expires_at > now() END AND ($4::uuid IS NULL OR id < $4) ORDER BY id DESC LIMIT $5`,
    values: [accountId, vaultId, isDecided, before, limit],
  });
}

/** What the change does is deleted. */
export async function storeDecision(
  transaction: Transaction,
  { accountId, vaultId, id }: ChangeRef,
  { state, decidedBy, mac }: ChangeDecision & { readonly mac: Buffer },
): Promise<void> {
  await transaction.query({
    text: "UPDATE proposed_change SET state = $4, decided_by = $5, decided_at = now(), mac = $6, key_version = NULL, sealed = NULL WHERE account_id = $1 AND vault_id = $2 AND id = $3",
    values: [accountId, vaultId, id, state, decidedBy, mac],
  });
}

export async function storeDecisionCount(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  count: number,
): Promise<void> {
  await transaction.query({
    text: "UPDATE vault SET decided_changes = $3 WHERE account_id = $1 AND id = $2",
    values: [accountId, vaultId, count],
  });
}

/** Changes that are encrypted with another data key than this one. */
export async function listChangesUnderOtherKeys(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  keyVersion: number,
): Promise<readonly StoredChange[]> {
  return transaction.query<StoredChange>({
    text: `SELECT ${columns} FROM proposed_change WHERE account_id = $1 AND vault_id = $2 AND key_version <> $3 ORDER BY id`,
    values: [accountId, vaultId, keyVersion],
  });
}

export async function updateEncryptedContent(
  transaction: Transaction,
  { accountId, vaultId, id }: ChangeRef,
  { keyVersion, ciphertext }: EncryptedContent,
): Promise<void> {
  await transaction.query({
    text: "UPDATE proposed_change SET key_version = $4, sealed = $5 WHERE account_id = $1 AND vault_id = $2 AND id = $3",
    values: [accountId, vaultId, id, keyVersion, ciphertext],
  });
}

/** Who has had a value of a token, or decided for what a trust rule issues tokens; as `formatActor` writes them. */
export type CredentialOrigin = {
  readonly createdBy: string;
  /** Those who have rotated the token, or changed the rule. */
  readonly changedBy: readonly string[];
  /** Whether it was rotated or changed at all. */
  readonly isChanged: boolean;
};

export async function readCredentialOrigin(
  transaction: Transaction,
  {
    accountId,
    kind,
    id,
  }: { readonly accountId: string; readonly kind: "token" | "trust-rule"; readonly id: string },
): Promise<CredentialOrigin | undefined> {
  const [row] = await transaction.query<CredentialOrigin>({
    text:
      kind === "token"
        ? 'SELECT created_by AS "createdBy", rotated_by AS "changedBy", rotated_at IS NOT NULL AS "isChanged" FROM api_token WHERE account_id = $1 AND id = $2'
        : 'SELECT created_by AS "createdBy", changed_by AS "changedBy", changed_at IS NOT NULL AS "isChanged" FROM trust_rule WHERE account_id = $1 AND id = $2',
    values: [accountId, id],
  });
  return row;
}

/** Everything after it can be undone with `rollBackToSavepoint`, while the locks stay. */
export async function setSavepoint(transaction: Transaction): Promise<void> {
  await transaction.query({ text: "SAVEPOINT rehearsal" });
}

export async function rollBackToSavepoint(transaction: Transaction): Promise<void> {
  await transaction.query({ text: "ROLLBACK TO SAVEPOINT rehearsal" });
}
