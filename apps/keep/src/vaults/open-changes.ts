import { FailureError } from "@hearth-and-keep/failures";
import type { AuditActor, AuditEntry, AuditLog, Subject } from "../audit/audit-log.ts";
import type { AuditEvent } from "../audit/events.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import type { HeadChange, VaultHeads } from "../keys/vault-heads/vault-heads.ts";
import type { DataKey, VaultKeys, VaultRef } from "../keys/vault-keys.ts";
import { lockVault, updateVaultState, type VaultDetailRow } from "./queries.ts";

export type OpenDependencies = {
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
  /** Whether it may change what is protected: a second person has approved it, or the server purges what was deleted. */
  readonly mayChangeProtected: boolean;
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
  /** Records an event in the vault's audit log, at the end of the transaction. */
  record(event: AuditEvent, subject?: Subject): void;
  /** As `record`, in the account's audit log. */
  recordOnAccount(event: AuditEvent): void;
};

/** Secrets and bytes of one account, over all its vaults. */
type Usage = {
  liveSecrets: number;
  /** Including deleted ones. */
  allSecrets: number;
  storedBytes: number;
};

/** Columns that the vault's head authenticates. */
type ChangedColumns = Pick<
  VaultDetailRow,
  | "name"
  | "demands_preconditions"
  | "most_versions"
  | "prunes_versions"
  | "environments"
  | "base_folder"
  | "protected_paths"
  | "decided_changes"
  | "deleted_at"
>;

/** The state that a vault must be in; otherwise it is not found. */
export type VaultState = "live" | "deleted" | "any";

export type ChangeContext = {
  readonly vaultRef: VaultRef;
  readonly state: VaultState;
  readonly dependencies: OpenDependencies;
  /** Whether a second person has approved the changes, or they will be rolled back. */
  readonly isApproved?: boolean;
};

/** One change in the caller's transaction. */
export async function changeInTransaction<Result>(
  transaction: Transaction,
  { by, ...context }: ChangeContext & { readonly by: AuditActor },
  work: (change: VaultChange) => Promise<Result>,
): Promise<Result> {
  const changes = openChanges(transaction, context);
  const result = await changes.run(by, work);
  await changes.end();
  return result;
}

/** A change that the caller rolls back, and which may therefore do everything that an approved one may. */
export function asRehearsal(change: VaultChange): VaultChange {
  return { ...change, mayChangeProtected: true };
}

/** The changes of one transaction to one vault. */
export type OpenChanges = {
  /** Runs one change; the first one locks the vault. */
  run<Result>(by: AuditActor, work: (change: VaultChange) => Promise<Result>): Promise<Result>;
  /** Whether the transaction can still commit: no change failed after it had written something. */
  isIntact(): boolean;
  /** Stores what the changes that succeeded lead to, and records their events. */
  end(): Promise<void>;
};

export function openChanges(transaction: Transaction, context: ChangeContext): OpenChanges {
  const { vaultRef, dependencies } = context;
  let opening: Promise<OpenVault> | undefined;
  let hasChanged = false;
  let isIntact = true;
  return {
    async run(by, work) {
      const open = await (opening ??= openVault(transaction, context));
      const change = beginChange(open, { ...context, transaction, by });
      try {
        const result = await work(change);
        change.finish();
        hasChanged = true;
        return result;
      } catch (error) {
        if (change.hasWritten() || !(error instanceof FailureError)) isIntact = false;
        throw error;
      }
    },
    isIntact: () => isIntact,
    async end() {
      if (opening === undefined || !hasChanged) return;
      const open = await opening;
      const { revision, usage, usageBefore } = open;
      const head = open.head.seal({ ...open.vault, revision });
      const added = {
        liveSecrets: usage.liveSecrets - usageBefore.liveSecrets,
        allSecrets: usage.allSecrets - usageBefore.allSecrets,
        storedBytes: usage.storedBytes - usageBefore.storedBytes,
      };
      updateVaultState(transaction, vaultRef, { revision, head, ...added });
      dependencies.audit.record(transaction, ...open.entries);
    },
  };
}

/** A locked vault, as the changes so far lead to. Its revision is the last one assigned. */
type OpenVault = {
  vault: VaultDetailRow;
  revision: number;
  readonly head: HeadChange;
  readonly usageBefore: Readonly<Usage>;
  readonly usage: Usage;
  readonly entries: AuditEntry[];
  readonly active: Promise<DataKey>;
};

async function openVault(
  transaction: Transaction,
  { vaultRef, state, dependencies }: ChangeContext,
): Promise<OpenVault> {
  const locking = lockVault(transaction, vaultRef);
  // Most changes need it; sent together with the lock.
  const active = dependencies.vaultKeys.active(transaction, vaultRef);
  active.catch(() => undefined);
  const locked = await locking;
  const found = locked?.deleted_at === null ? "live" : "deleted";
  if (locked === undefined || (state !== "any" && state !== found))
    throw requestFailure({ kind: "not-found" });
  const usage = {
    liveSecrets: locked.live_secrets,
    allSecrets: locked.all_secrets,
    storedBytes: locked.stored_bytes,
  };
  return {
    vault: locked,
    revision: locked.revision,
    active,
    head: await dependencies.vaultHeads.beginChange(transaction, vaultRef, locked),
    usageBefore: usage,
    usage: { ...usage },
    entries: [],
  };
}

type NextChange = Pick<ChangeContext, "vaultRef" | "dependencies" | "isApproved"> & {
  readonly transaction: Transaction;
  readonly by: AuditActor;
};

type BegunChange = VaultChange & {
  /** Makes the change the state that the next one begins with. */
  finish(): void;
  hasWritten(): boolean;
};

function beginChange(
  open: OpenVault,
  { transaction, vaultRef, by, dependencies, isApproved = false }: NextChange,
): BegunChange {
  const vault = { ...open.vault, revision: open.revision + 1 };
  const { vaultKeys } = dependencies;
  let { revision } = open;
  let columns: Partial<ChangedColumns> = {};
  let hasWritten = false;
  const entries: AuditEntry[] = [];
  const latestRevision = (): number => Math.max(revision, vault.revision);
  return {
    transaction: watchWrites(transaction, () => (hasWritten = true)),
    vaultRef,
    by,
    vault,
    mayChangeProtected: isApproved || by === "server",
    usage: open.usage,
    head: {
      assertCurrent: (row) => open.head.assertCurrent(row),
      setRevision(id, newRevision) {
        hasWritten = true;
        open.head.setRevision(id, newRevision);
      },
    },
    setColumns: (changed) => (columns = { ...columns, ...changed }),
    nextRevision() {
      open.revision += 1;
      revision = open.revision;
      return revision;
    },
    latestRevision,
    activeKey: () => open.active,
    dataKey: (version) => vaultKeys.ofVersionWithin(transaction, vaultRef, version),
    record: (event, subject = { id: vaultRef.vaultId, revision: vault.revision }) =>
      void entries.push({ ...vaultRef, by, event, subject }),
    recordOnAccount: (event) => void entries.push({ accountId: vaultRef.accountId, by, event }),
    finish() {
      open.vault = { ...open.vault, ...columns };
      open.revision = Math.max(open.revision, vault.revision);
      open.entries.push(...entries);
    },
    hasWritten: () => hasWritten,
  };
}

function watchWrites(transaction: Transaction, onWrite: () => void): Transaction {
  return {
    ...transaction,
    query(statement) {
      if (!statement.text.startsWith("SELECT")) onWrite();
      return transaction.query(statement);
    },
  };
}
