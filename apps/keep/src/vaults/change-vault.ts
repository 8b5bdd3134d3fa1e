import type { AuditEntry, AuditLog, Recorded, Subject } from "../audit/audit-log.ts";
import type { AuditEvent } from "../audit/events.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Conditions } from "../conditions.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type Changed, changeOnce, type Once } from "../idempotency/change-once.ts";
import type { DataKey, VaultKeys, VaultPlace } from "../keys/vault-keys.ts";
import { lockVault, setRevision, type VaultDetailRow } from "./queries.ts";

/** What somebody asks for: a change in one vault, once, and under these conditions. */
export type AskedChange = {
  readonly actor: Actor;
  readonly vaultId: string;
  readonly once: Once | undefined;
  readonly conditions: Conditions;
};

export type ChangeParts = {
  readonly database: Pick<Database, "inAccount">;
  readonly vaultKeys: VaultKeys;
  readonly audit: AuditLog;
};

/** A change under way. The vault's row is locked: until the transaction ends nobody else changes anything in it. */
export type VaultChange = {
  readonly transaction: Transaction;
  readonly place: VaultPlace;
  readonly by: Recorded;
  /** As it is now, this change counted. */
  readonly vault: VaultDetailRow;
  /** The vault's revision for one thing that changes; each thing takes its own. */
  takeRevision(): number;
  /** The last one taken: the vault's as soon as this change is stored. */
  latestRevision(): number;
  /** The data key that new values are sealed with. */
  activeKey(): Promise<DataKey>;
  /** The data key that a row names. */
  keyOf(version: number): Promise<DataKey>;
  /** On the vault's chain. */
  record(event: AuditEvent, subject?: Subject): Promise<void>;
};

/** Vaults of which kind may be changed; a deleted one looks as if it were not there unless it is asked for. */
export type VaultState = "live" | "deleted" | "any";

export function changeVault<Result>(
  { actor, vaultId, once }: Omit<AskedChange, "conditions">,
  parts: ChangeParts,
  work: (change: VaultChange) => Promise<Result>,
): Promise<Changed<Result>> {
  const place = { accountId: actor.accountId, vaultId };
  return changeOnce(parts.database, { actor, once }, (transaction) =>
    changeInTransaction(transaction, { place, by: actor, state: "live", parts }, work),
  );
}

export type ChangeFrame = {
  readonly place: VaultPlace;
  readonly by: Recorded;
  readonly state: VaultState;
  readonly parts: Pick<ChangeParts, "vaultKeys" | "audit">;
};

/** In a transaction of the caller's. */
export async function changeInTransaction<Result>(
  transaction: Transaction,
  { place, by, state, parts }: ChangeFrame,
  work: (change: VaultChange) => Promise<Result>,
): Promise<Result> {
  const vault = await lockVault(transaction, place);
  const found = vault?.deleted_at === null ? "live" : "deleted";
  if (vault === undefined || (state !== "any" && state !== found))
    throw requestFailure({ kind: "not-found" });
  let taken = vault.revision - 1;
  let active: Promise<DataKey> | undefined;
  const result = await work({
    transaction,
    place,
    by,
    vault,
    takeRevision: () => (taken += 1),
    latestRevision: () => Math.max(taken, vault.revision),
    activeKey: () => (active ??= parts.vaultKeys.active(transaction, place)),
    keyOf: (version) => parts.vaultKeys.ofVersionWithin(transaction, place, version),
    record: (event, subject) => parts.audit.record(transaction, entryOf({ place, by }, event, subject)),
  });
  if (taken > vault.revision) await setRevision(transaction, place, taken);
  return result;
}

function entryOf(
  { place, by }: Pick<ChangeFrame, "place" | "by">,
  event: AuditEvent,
  subject: Subject | undefined,
): AuditEntry {
  return { chain: place.vaultId, by, event, ...(subject === undefined ? {} : { subject }) };
}
