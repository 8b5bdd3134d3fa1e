import type { AuditActor, AuditEntry, AuditLog, Subject } from "../audit/audit-log.ts";
import type { AuditEvent } from "../audit/events.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type IdempotencyKey, type IdempotentResult, runIdempotent } from "../idempotency/run-idempotent.ts";
import type { HeadChange, VaultHeads } from "../keys/vault-heads/vault-heads.ts";
import type { DataKey, VaultKeys, VaultRef } from "../keys/vault-keys.ts";
import type { Preconditions } from "../preconditions.ts";
import { lockVault, updateHead, type VaultDetailRow } from "./queries.ts";

/** A requested change in one vault. */
export type ChangeRequest = {
  readonly actor: Actor;
  readonly vaultId: string;
  readonly idempotencyKey: IdempotencyKey | undefined;
  readonly preconditions: Preconditions;
};

export type ChangeDependencies = {
  readonly database: Pick<Database, "inAccount">;
  readonly vaultKeys: VaultKeys;
  readonly vaultHeads: VaultHeads;
  readonly audit: AuditLog;
};

/**
 * A change in progress. The vault's row is locked, so changes in one vault are serialized until the transaction ends.
 */
export type VaultChange = {
  readonly transaction: Transaction;
  readonly vaultRef: VaultRef;
  readonly by: AuditActor;
  /** The vault's row, with the revision already incremented for this change. */
  readonly vault: VaultDetailRow;
  /** What the account stores, updated by this change as it goes. */
  readonly usage: Usage;
  /** A new revision for one changed row; every changed row gets its own. */
  nextRevision(): number;
  /** The last assigned revision, which becomes the vault's. */
  latestRevision(): number;
  /** The last revision of each secret, to be updated with every row that changes. */
  readonly head: Pick<HeadChange, "assertCurrent" | "setRevision">;
  /** Columns of the vault's own row that this change has updated. */
  setColumns(columns: Partial<ChangedColumns>): void;
  /** The data key that encrypts new values. */
  activeKey(): Promise<DataKey>;
  /** The data key of this version. */
  dataKey(version: number): Promise<DataKey>;
  /** Records an event on the vault's audit chain. */
  record(event: AuditEvent, subject?: Subject): Promise<void>;
  /** As `record`, for many events in one statement. */
  recordAll(events: readonly SubjectEvent[]): Promise<void>;
};

/** Secrets and bytes of one account, over all its vaults. */
type Usage = {
  liveSecrets: number;
  /** Including deleted ones. */
  allSecrets: number;
  storedBytes: number;
};

/** Columns that the vault's head authenticates. */
type ChangedColumns = Pick<VaultDetailRow, "name" | "demands_preconditions" | "most_versions" | "deleted_at">;

/** An event about a changed secret. */
export type SubjectEvent = { readonly event: AuditEvent; readonly subject: Subject };

/** The state that a vault must be in; otherwise it is not found. */
export type VaultState = "live" | "deleted" | "any";

export function changeVault<Result>(
  { actor, vaultId, idempotencyKey }: Omit<ChangeRequest, "preconditions">,
  dependencies: ChangeDependencies,
  work: (change: VaultChange) => Promise<Result>,
): Promise<IdempotentResult<Result>> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  return runIdempotent(dependencies.database, { actor, idempotencyKey }, (transaction) =>
    changeInTransaction(transaction, { vaultRef, by: actor, state: "live", dependencies }, work),
  );
}

export type ChangeContext = {
  readonly vaultRef: VaultRef;
  readonly by: AuditActor;
  readonly state: VaultState;
  readonly dependencies: Pick<ChangeDependencies, "vaultKeys" | "vaultHeads" | "audit">;
};

/** As `changeVault`, in the caller's transaction. */
export async function changeInTransaction<Result>(
  transaction: Transaction,
  { vaultRef, by, state, dependencies }: ChangeContext,
  work: (change: VaultChange) => Promise<Result>,
): Promise<Result> {
  const locked = await lockVault(transaction, vaultRef);
  const found = locked?.deleted_at === null ? "live" : "deleted";
  if (locked === undefined || (state !== "any" && state !== found))
    throw requestFailure({ kind: "not-found" });
  const head = await dependencies.vaultHeads.beginChange(transaction, vaultRef, locked);
  const vault = { ...locked, revision: locked.revision + 1 };
  let { revision } = locked;
  let columns: Partial<ChangedColumns> = {};
  let active: Promise<DataKey> | undefined;
  const result = await work({
    transaction,
    vaultRef,
    by,
    vault,
    usage: {
      liveSecrets: vault.live_secrets,
      allSecrets: vault.all_secrets,
      storedBytes: vault.stored_bytes,
    },
    head,
    setColumns: (changed) => (columns = { ...columns, ...changed }),
    nextRevision: () => (revision += 1),
    latestRevision: () => Math.max(revision, vault.revision),
    activeKey: () => (active ??= dependencies.vaultKeys.active(transaction, vaultRef)),
    dataKey: (version) => dependencies.vaultKeys.ofVersionWithin(transaction, vaultRef, version),
    record: (event, subject) =>
      dependencies.audit.record(transaction, auditEntry({ vaultRef, by }, event, subject)),
    recordAll: (events) =>
      dependencies.audit.recordAll(
        transaction,
        vaultRef.vaultId,
        events.map(({ event, subject }) => auditEntry({ vaultRef, by }, event, subject)),
      ),
  });
  const after = { ...vault, ...columns, revision: Math.max(revision, vault.revision) };
  await updateHead(transaction, vaultRef, { revision: after.revision, head: head.seal(after) });
  return result;
}

function auditEntry(
  { vaultRef, by }: Pick<ChangeContext, "vaultRef" | "by">,
  event: AuditEvent,
  subject: Subject | undefined,
): AuditEntry {
  return { chain: vaultRef.vaultId, by, event, ...(subject === undefined ? {} : { subject }) };
}
