/**
 * @module
 * Verification of all audit logs in a database, against signed checkpoints that were stored elsewhere. Guarantees that
 * every record that was changed, removed or added since its checkpoint is named.
 * Imported by `commands/`.
 */
import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import type { Database } from "../../database/open-database.ts";
import type { RowMacs } from "../../keys/row-integrity/row-macs.ts";
import { textOf } from "../adopt-records.ts";
import { sha256 } from "../bytes.ts";
import { listUnloggedRecords } from "../queries.ts";
import { createCarryOverCheck } from "./carry-overs.ts";
import { createErasureCheck } from "./erasures.ts";
import { countArchivedRecords, inSnapshot, listLogs } from "./queries.ts";
import { readTrustedNotes, type TrustedNote } from "./trusted-notes.ts";
import { type ArchivedTree, type VerifiedLog, verifyLog } from "./verify-log.ts";

export type LogVerificationRequest = {
  /** The keys that checkpoints must be signed with. */
  readonly keys: readonly CheckpointKey[];
  /** Signed checkpoints that were stored outside the database. */
  readonly trustedNotes: readonly string[];
  /** By origin, what verified archive files contain; undefined when none are to be compared. */
  readonly archives?: ReadonlyMap<string, ArchivedTree> | undefined;
};

export type LogVerificationDependencies = {
  readonly database: Pick<Database, "acrossAccounts">;
  /** Without it, a record that was added is reported only once it is too old to be waiting for its leaf. */
  readonly rowMacs?: Pick<RowMacs, "isGenuine"> | undefined;
};

export type LogVerification = {
  readonly logs: number;
  readonly records: number;
  /** Records that are archived, and were not verified. */
  readonly archived: number;
  readonly checkpoints: number;
  /** Trusted checkpoints that were compared. */
  readonly trusted: number;
  /** Trusted checkpoints that are older than the archived part, and were not compared. */
  readonly olderTrusted: number;
  /** One sentence for each thing that is not as it was signed. */
  readonly findings: readonly string[];
};

const nothingArchived: ArchivedTree = {
  size: 0,
  root: sha256(new Uint8Array()),
};

/** Younger records may be waiting for their leaves; the clock of the database may be ahead by as much. */
const maxUnloggedSeconds = 120;

const everyNumber = { since: 0, until: Number.MAX_SAFE_INTEGER };

export function verifyLogs(
  request: LogVerificationRequest,
  { database, rowMacs }: LogVerificationDependencies,
): Promise<LogVerification> {
  return inSnapshot(database, (snapshot) => verifySnapshot(request, { database: snapshot, rowMacs }));
}

async function verifySnapshot(
  { keys, trustedNotes, archives }: LogVerificationRequest,
  { database, rowMacs }: LogVerificationDependencies,
): Promise<LogVerification> {
  const findings: string[] = [];
  const report = (finding: string): void => void findings.push(finding);
  const trusted = await readTrustedNotes(trustedNotes, keys, report);
  const erasures = createErasureCheck(report);
  const carryOvers = createCarryOverCheck(report);
  const logs = await listLogs(database);
  const verified: VerifiedLog[] = [];
  for (const log of logs) {
    const ofLog = trusted.filter(({ origin }) => origin === log.origin);
    const archive = archives === undefined ? undefined : (archives.get(log.origin) ?? nothingArchived);
    verified.push(
      await verifyLog({ log, keys, trusted: ofLog, archive }, { database, report, erasures, carryOvers }),
    );
  }
  const sum = (count: (log: VerifiedLog) => number): number =>
    verified.reduce((total, log) => total + count(log), 0);
  const archived = sum((log) => log.archived);
  const listed = await countArchivedRecords(database);
  if (archived !== listed)
    report(`The logs begin after ${archived} archived records, but ${listed} were archived`);
  reportMissingLogs(trusted, new Set(logs.map(({ origin }) => origin)), report);
  erasures.reportUnexplained();
  await carryOvers.compareWithChains(database);
  await reportUnlogged({ database, rowMacs }, report);
  const olderTrusted = sum((log) => log.olderTrusted);
  return {
    logs: logs.length,
    records: sum((log) => log.records),
    archived,
    checkpoints: sum((log) => log.checkpoints),
    trusted: trusted.length - olderTrusted,
    olderTrusted,
    findings,
  };
}

async function reportUnlogged(
  { database, rowMacs }: LogVerificationDependencies,
  report: (finding: string) => void,
): Promise<void> {
  for (const row of await listUnloggedRecords(database, everyNumber)) {
    const { log_id, number, stream_id, mac } = row;
    const isWaiting = Math.abs(Date.now() - Number(number) / 1000) < maxUnloggedSeconds * 1000;
    const isForged = rowMacs !== undefined && !rowMacs.isGenuine({ auditRecord: textOf(row) }, mac);
    if (isForged || !isWaiting)
      report(`Record ${log_id}/${number} of ${stream_id} is in no log: it was added to the database`);
  }
}

function reportMissingLogs(
  trusted: readonly TrustedNote[],
  origins: ReadonlySet<string>,
  report: (finding: string) => void,
): void {
  for (const origin of new Set(trusted.map((note) => note.origin)))
    if (!origins.has(origin))
      report(`Log ${origin} is missing: a trusted checkpoint refers to it, so the database was rolled back`);
}
