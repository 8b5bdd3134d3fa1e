import { recordText } from "@hearth-and-keep/audit-records";
import type { Database } from "../database/open-database.ts";
import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import { hashText } from "./bytes.ts";
import type { NodeLog } from "./node-log.ts";
import { type HashedRow, listUnloggedRecords, lockAdoption, setAdoptedUntil } from "./queries.ts";

export type AdoptionDependencies = {
  readonly database: Pick<Database, "inTransaction" | "acrossAccounts">;
  readonly rowMacs: Pick<RowMacs, "isGenuine">;
  readonly nodeLog: Pick<NodeLog, "committed" | "append">;
  /** Records without a valid MAC, which Keep did not write. */
  readonly onForged: (records: number) => void;
  /** Of records that are adopted. */
  readonly minAgeSeconds?: number;
};

/**
 * Longer than a record can take from its number to its leaf: a transaction that stays silent is ended after 10 seconds,
 * a statement after 30.
 */
const defaultMinAgeSeconds = 60;

/**
 * Makes leaves of records that no log has: those of a node that was killed after a commit, or that does not know the
 * outcome of one. One node at a time does this.
 */
export async function adoptRecords({
  database,
  rowMacs,
  nodeLog,
  onForged,
  minAgeSeconds = defaultMinAgeSeconds,
}: AdoptionDependencies): Promise<void> {
  await database.inTransaction(async (transaction) => {
    const range = await lockAdoption(transaction, minAgeSeconds);
    if (range === undefined) return;
    const rows = await listUnloggedRecords(database, range);
    const genuine = rows.filter((row) => rowMacs.isGenuine({ auditRecord: textOf(row) }, row.mac));
    if (genuine.length < rows.length) onForged(rows.length - genuine.length);
    for (const row of genuine) nodeLog.committed.push(toCommitted(row));
    await nodeLog.append();
    await setAdoptedUntil(transaction, range.until);
  });
}

/** What the MAC and the leaf of a stored record cover. */
export function textOf(row: HashedRow): string {
  return recordText({
    log: row.log_id,
    number: Number(row.number),
    account: row.account_id,
    stream: row.stream_id,
    outcome: row.outcome,
    subject: row.subject_id,
    revision: row.revision === null ? null : Number(row.revision),
    bodyHash: row.body_hash?.toString("hex") ?? "",
  });
}

function toCommitted(row: HashedRow) {
  const { log_id, number, account_id, stream_id, outcome } = row;
  const recordHash = hashText(textOf(row));
  return { log: log_id, number: Number(number), account: account_id, stream: stream_id, outcome, recordHash };
}
