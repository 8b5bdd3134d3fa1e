import type { Change, ChangeSummary, ReviewedOperation } from "@hearth-and-keep/vault-contract";
import type { AuditLog } from "../../audit/audit-log.ts";
import type { Actor } from "../../authorization/actor.ts";
import { assertPathAllowed, assertScopeAllowed } from "../../authorization/grant.ts";
import { type Page, scanPage } from "../../cursor.ts";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import type { RowMacs } from "../../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../../keys/server-keys.ts";
import type { VaultHeads } from "../../keys/vault-heads/vault-heads.ts";
import type { DataKey, VaultKeys, VaultRef } from "../../keys/vault-keys.ts";
import type { VaultChange } from "../../vaults/open-changes.ts";
import { lockVault, type VaultDetailRow } from "../../vaults/queries.ts";
import { parseSecretPath } from "../secret-path.ts";
import { decodeValue } from "../value-content.ts";
import { type ChangeContent, decryptContent } from "./change-content.ts";
import { formatProposer, isGenuinePending } from "./end-changes.ts";
import { findChange, listChanges, readEncryptedContent, type StoredChange } from "./queries.ts";
import { mayList } from "./rights.ts";

export type ReviewDependencies = {
  readonly database: Pick<Database, "inAccount">;
  readonly vaultKeys: Pick<VaultKeys, "ofVersionWithin">;
  readonly vaultHeads: Pick<VaultHeads, "assertGenuine">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs" | "fingerprint">;
  readonly audit: AuditLog;
};

type ChangeList = {
  readonly vaultId: string;
  readonly isDecided: boolean;
  readonly after: readonly string[] | null;
  readonly limit: number;
};

/** The changes that the actor may know of, newest first. */
export function listVisibleChanges(
  actor: Actor,
  { vaultId, isDecided, after, limit }: ChangeList,
  dependencies: ReviewDependencies,
): Promise<Page<ChangeSummary>> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  const { rowMacs } = dependencies.serverKeys;
  return inLockedVault(vaultRef, dependencies, async (transaction, vault) => {
    const { page, ...rest } = await scanPage({
      limit,
      after,
      isAllowed: (row: StoredChange) => isVisible(row, { actor, vault, rowMacs }),
      read: (position, rows) =>
        listChanges(transaction, vaultRef, { isDecided, before: position?.[0] ?? null, limit: rows }),
      cursorOf: ({ id }) => [id],
    });
    return { page: page.map(describeSummary), ...rest };
  });
}

type ChangeSelection = {
  readonly vaultId: string;
  readonly changeId: string;
  /** Whether the new values are returned too. */
  readonly withValues: boolean;
};

/** What the change does, while it is pending. Records that values are read before it returns them. */
export async function reviewChange(
  actor: Actor,
  { vaultId, changeId, withValues }: ChangeSelection,
  dependencies: ReviewDependencies,
): Promise<Change> {
  const vaultRef = { accountId: actor.accountId, vaultId };
  const { rowMacs } = dependencies.serverKeys;
  const { row, content } = await inLockedVault(vaultRef, dependencies, async (transaction, vault) => {
    const found = await findChange(transaction, { ...vaultRef, id: changeId });
    if (found === undefined || !isVisible(found, { actor, vault, rowMacs }))
      throw requestFailure({ kind: "not-found" });
    if (found.state !== "pending") return { row: found, content: undefined };
    const keyOf = (version: number) => dependencies.vaultKeys.ofVersionWithin(transaction, vaultRef, version);
    return { row: found, content: await decryptStored(transaction, found, { ...dependencies, keyOf }) };
  });
  if (content === undefined) return describeSummary(row);
  const written = content.operations.filter(({ op }) => op === "put");
  if (withValues) {
    const reach = { scope: "secrets:read", vaultId } as const;
    assertScopeAllowed(actor.grant, reach);
    for (const { path } of written) assertPathAllowed(actor.grant, reach, parseSecretPath(path).path);
    const fingerprint = row.fingerprint.toString("hex");
    const event = { type: "change-read", change: row.id, fingerprint } as const;
    await dependencies.audit.recordRead({ ...vaultRef, by: actor, event });
  }
  return { ...describeSummary(row), ...describeContent(content, withValues) };
}

type VisibilityContext = {
  readonly actor: Pick<Actor, "grant">;
  readonly vault: Pick<VaultDetailRow, "decided_changes">;
  readonly rowMacs: RowMacs;
};

/** Rows that Keep did not store, or that were put back after a decision, are as good as missing. */
function isVisible(row: StoredChange, { actor, vault, rowMacs }: VisibilityContext): boolean {
  const { state, decidedBy } = row;
  const isGenuine =
    state === "pending"
      ? isGenuinePending(row, vault.decided_changes, rowMacs)
      : rowMacs.isGenuine({ proposedChange: row, status: { state, decidedBy: decidedBy ?? "" } }, row.mac);
  return isGenuine && mayList(actor.grant, row);
}

type PendingRequest = { readonly actor: Actor; readonly changeId: string };

/** For a decision: the change, if it is pending and the actor may know of it. */
export async function loadPending(
  { transaction, vaultRef, vault }: VaultChange,
  { actor, changeId }: PendingRequest,
  { serverKeys: { rowMacs } }: Pick<ReviewDependencies, "serverKeys">,
): Promise<StoredChange> {
  const row = await findChange(transaction, { ...vaultRef, id: changeId });
  if (row === undefined || !isVisible(row, { actor, vault, rowMacs }))
    throw requestFailure({ kind: "not-found" });
  if (row.state !== "pending")
    throw requestFailure({ kind: "conflict", reason: `The change is ${row.state} already` });
  if (row.expiresAt <= row.readAt)
    throw requestFailure({ kind: "conflict", reason: "The change has expired; propose it again" });
  return row;
}

/** What a pending change does, within a change of its vault. */
export function openContent(
  change: VaultChange,
  row: StoredChange,
  { serverKeys }: Pick<ReviewDependencies, "serverKeys">,
): Promise<ChangeContent> {
  return decryptStored(change.transaction, row, {
    serverKeys,
    keyOf: (version) => change.dataKey(version),
  });
}

type ContentKeys = Pick<ReviewDependencies, "serverKeys"> & {
  readonly keyOf: (version: number) => Promise<DataKey>;
};

async function decryptStored(
  transaction: Transaction,
  row: StoredChange,
  { serverKeys, keyOf }: ContentKeys,
): Promise<ChangeContent> {
  const stored = await readEncryptedContent(transaction, row);
  if (stored === undefined) throw requestFailure({ kind: "integrity-broken" });
  const key = await keyOf(stored.keyVersion);
  return decryptContent(row, { ciphertext: stored.ciphertext, key }, serverKeys);
}

/** Decisions and key rotations wait, so that the rows are of one state; the vault may be deleted. */
function inLockedVault<Result>(
  vaultRef: VaultRef,
  { database, vaultHeads }: ReviewDependencies,
  work: (transaction: Transaction, vault: VaultDetailRow) => Promise<Result>,
): Promise<Result> {
  return database.inAccount(vaultRef.accountId, async (transaction) => {
    const vault = await lockVault(transaction, vaultRef);
    if (vault === undefined) throw requestFailure({ kind: "not-found" });
    vaultHeads.assertGenuine(vaultRef, vault);
    return work(transaction, vault);
  });
}

function describeSummary(row: StoredChange): ChangeSummary {
  return {
    id: row.id,
    state: row.state,
    reason: row.reason,
    fingerprint: row.fingerprint.toString("hex"),
    operation_count: row.operationCount,
    proposed_by: formatProposer(row),
    proposed_at: row.proposedAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    decided_by: row.decidedBy,
    decided_at: row.decidedAt?.toISOString() ?? null,
  };
}

function describeContent(
  { operations, settings, vaultAction, seen }: ChangeContent,
  withValues: boolean,
): Omit<Change, keyof ChangeSummary> {
  const revisions = new Map(seen.secrets.map(({ path, revision }) => [path, revision]));
  const { maxVersions, prunesVersions, environments, baseFolder, protectedPaths } = settings;
  return {
    operations: operations.map((operation) => {
      const { path } = parseSecretPath(operation.path);
      const named = { op: operation.op, path, revision: revisions.get(path) ?? 0 };
      if (operation.op === "move") return { ...named, to: parseSecretPath(operation.to, "to").path };
      return operation.op === "put" ? { ...named, ...describeWrite(operation, withValues) } : named;
    }),
    ...(maxVersions === undefined ? {} : { most_versions: maxVersions }),
    ...(prunesVersions === undefined
      ? {}
      : { when_versions_full: prunesVersions ? "destroy-oldest" : "refuse" }),
    ...(environments === undefined ? {} : { environments: [...environments] }),
    ...(baseFolder === undefined ? {} : { base: baseFolder }),
    ...(protectedPaths === undefined ? {} : { protected_paths: [...protectedPaths] }),
    ...(vaultAction === "delete" ? { delete_vault: true } : {}),
    ...(vaultAction === "restore" ? { restore_vault: true } : {}),
  };
}

type WriteOperation = Extract<ChangeContent["operations"][number], { readonly op: "put" }>;

function describeWrite(
  { value, encoding, type, tags, note }: WriteOperation,
  withValues: boolean,
): Partial<ReviewedOperation> {
  const shown = withValues
    ? { value, encoding: encoding ?? "utf8", ...(typeof note === "string" ? { note_text: note } : {}) }
    : {};
  return {
    ...(type === undefined ? {} : { type }),
    ...(tags === undefined ? {} : { tags }),
    ...(note === undefined ? {} : { note: note === null ? "removed" : "written" }),
    size: decodeValue(value, encoding).length,
    ...shown,
  };
}
