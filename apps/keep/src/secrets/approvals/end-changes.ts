import type { AuditEvent } from "../../audit/events.ts";
import { formatActor } from "../../authorization/actor.ts";
import { updateMacs } from "../../keys/row-integrity/queries.ts";
import type { ProposedChangeRow, RowMacs } from "../../keys/row-integrity/row-macs.ts";
import type { VaultChange } from "../../vaults/open-changes.ts";
import { actorName } from "../change-secret.ts";
import {
  type ChangeState,
  listPendingChanges,
  type StoredChange,
  storeDecision,
  storeDecisionCount,
} from "./queries.ts";

type Decision = Exclude<ChangeState, "pending">;

/**
 * Ends pending changes, of which none can wait again: the vault's head counts the decisions, and the changes that still
 * wait get MACs with the new count. A row that is put back has the count of before.
 */
export async function endChanges(
  change: VaultChange,
  { rows, state }: { readonly rows: readonly StoredChange[]; readonly state: Decision },
  rowMacs: RowMacs,
): Promise<void> {
  const { transaction, vaultRef, vault } = change;
  const ended = new Set(rows.map(({ id }) => id));
  const count = vault.decided_changes + rows.length;
  const waiting = (await listPendingChanges(transaction, vaultRef)).filter(
    (row) => !ended.has(row.id) && isGenuinePending(row, vault.decided_changes, rowMacs),
  );
  const macs = waiting.map((row) => ({
    key: row.id,
    mac: rowMacs.compute({ proposedChange: row, status: count }),
  }));
  await updateMacs(transaction, { accountId: vaultRef.accountId, table: "proposed_change" }, macs);
  const decision = { state, decidedBy: actorName(change) };
  for (const row of rows) {
    const mac = rowMacs.compute({ proposedChange: row, status: decision });
    await storeDecision(transaction, row, { ...decision, mac });
    change.usage.storedBytes -= row.sealedBytes;
    change.record(eventFor(row, decision));
  }
  await storeDecisionCount(transaction, vaultRef, count);
  change.setColumns({ decided_changes: count });
}

/** Whether Keep stored the row, and it waits for a decision; `decidedChanges` is the vault's number. */
export function isGenuinePending(row: StoredChange, decidedChanges: number, rowMacs: RowMacs): boolean {
  return (
    row.state === "pending" && rowMacs.isGenuine({ proposedChange: row, status: decidedChanges }, row.mac)
  );
}

/** As in rows and audit records. */
export function formatProposer({ proposerKind: kind, proposerId: id, personId }: ProposedChangeRow): string {
  return formatActor({ kind, id, ...(personId === null ? {} : { personId }) });
}

function eventFor(
  row: StoredChange,
  { state, decidedBy }: { readonly state: Decision; readonly decidedBy: string },
): AuditEvent {
  const fields = {
    change: row.id,
    fingerprint: row.fingerprint.toString("hex"),
    proposer: formatProposer(row),
  };
  return state === "approved"
    ? { type: "change-approved", ...fields, approver: decidedBy }
    : { type: `change-${state}`, ...fields };
}
