/**
 * @module
 * The audit log: a transparency log per node, which holds the records of all vaults and accounts. Guarantees that a
 * change and its record commit atomically, that no value is returned before the record of its read is durable, and that
 * whoever changes, removes or adds a record afterwards is found out by the signed checkpoints.
 * Imported by use cases, which record in their own transaction, and by `commands/`.
 */
import { hash, randomUUID } from "node:crypto";
import { canonicalJson } from "@hearth-and-keep/audit-chain";
import { recordText } from "@hearth-and-keep/audit-records";
import { formatActor, type Originator } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import type { AuditEvent, AuditOutcome } from "./events.ts";
import type { CommittedRecord, NodeLog, Numbering } from "./node-log.ts";
import { insertRecordsStatement, type NewRecord } from "./queries.ts";

/** The recorded actor: a caller, or the server itself for background work. */
export type AuditActor = Originator | "server";

/** The changed secret, or the vault itself, and its new revision. */
export type Subject = { readonly id: string; readonly revision: number };

export type AuditEntry = {
  readonly accountId: string;
  /** Undefined for what does not concern one vault; the record then belongs to the account's own stream. */
  readonly vaultId?: string | undefined;
  readonly by: AuditActor;
  readonly event: AuditEvent;
  readonly subject?: Subject;
};

export type AuditLog = {
  /** Records in the transaction of the change, at its commit. */
  record(transaction: Transaction, ...entries: readonly AuditEntry[]): void;
  /** Resolves when the record is durable; values may be returned only then. Concurrent records share a commit. */
  recordRead(entry: AuditEntry): Promise<void>;
};

type AuditObserver = {
  /** Called after each durable commit of read records. */
  readonly onBatch: (records: number, milliseconds: number) => void;
  /** Called with the number of values that a durable record covers. */
  readonly onValuesRead: (values: number) => void;
};

export type AuditLogDependencies = {
  readonly database: Pick<Database, "append">;
  readonly rowMacs: Pick<RowMacs, "compute">;
  readonly nodeLog: Pick<NodeLog, "numbering" | "committed">;
  readonly observer?: AuditObserver;
};

export function createAuditLog({ database, rowMacs, nodeLog, observer }: AuditLogDependencies): AuditLog {
  const toRecord = (entry: AuditEntry): PreparedRecord => {
    const body = canonicalJson(toBody(entry));
    const { accountId, vaultId = accountId, subject } = entry;
    const row = {
      log: nodeLog.numbering.log,
      number: nextNumber(nodeLog.numbering),
      account: accountId,
      stream: vaultId,
      outcome: outcomeOf(entry.event),
      subject: subject?.id ?? null,
      revision: subject?.revision ?? null,
    };
    const text = recordText({ ...row, bodyHash: hash("sha256", body) });
    const recordHash = hash("sha256", text);
    return { row: { ...row, body, mac: rowMacs.compute({ auditRecord: text }) }, recordHash };
  };
  const commitReads = createReadQueue(async (records) => {
    const startedAt = performance.now();
    await database.append(insertRecordsStatement(records.map(({ row }) => row)), records.length);
    nodeLog.committed.push(...records.map(toCommitted));
    observer?.onBatch(records.length, performance.now() - startedAt);
  });
  return {
    record(transaction, ...entries) {
      if (entries.length === 0) return;
      const records = entries.map(toRecord);
      transaction.queryAtCommit(insertRecordsStatement(records.map(({ row }) => row)));
      transaction.afterCommit(() => nodeLog.committed.push(...records.map(toCommitted)));
    },
    async recordRead(entry) {
      await commitReads(toRecord(entry));
      const values = countValues(entry.event);
      if (values > 0) observer?.onValuesRead(values);
    },
  };
}

function nextNumber(numbering: Numbering): number {
  const now = Math.floor(numbering.offset + performance.now() * 1000);
  numbering.last = Math.max(numbering.last + 1, now);
  return numbering.last;
}

type PreparedRecord = { readonly row: NewRecord; readonly recordHash: string };

function toCommitted({ row, recordHash }: PreparedRecord): CommittedRecord {
  const { log, number, account, stream, outcome } = row;
  return { log, number, account, stream, outcome, recordHash };
}

const maxCommitsInFlight = 3;
/** A commit beside another one starts with this many records, or when the oldest has waited for this long. */
const minRecordsBeside = 8;
const maxWaitMilliseconds = 1;
const maxRecordsPerCommit = 500;

type QueuedRecord = {
  readonly record: PreparedRecord;
  readonly queuedAt: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** Commits the records of all vaults together: at once while nothing is being committed, else in batches. */
function createReadQueue(commit: (records: readonly PreparedRecord[]) => Promise<void>) {
  const queue: QueuedRecord[] = [];
  let inFlight = 0;
  let timer: NodeJS.Timeout | undefined;
  const isDue = (): boolean => {
    const [oldest] = queue;
    if (oldest === undefined || inFlight === maxCommitsInFlight) return false;
    if (inFlight === 0 || queue.length >= minRecordsBeside) return true;
    return performance.now() - oldest.queuedAt >= maxWaitMilliseconds;
  };
  const commitNext = async (): Promise<void> => {
    const batch = queue.splice(0, maxRecordsPerCommit);
    inFlight += 1;
    try {
      await commit(batch.map(({ record }) => record));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    inFlight -= 1;
    advance();
  };
  const advance = (): void => {
    while (isDue()) void commitNext();
    if (queue.length > 0 && inFlight < maxCommitsInFlight)
      timer ??= setTimeout(() => {
        timer = undefined;
        advance();
      }, maxWaitMilliseconds);
  };
  return (record: PreparedRecord): Promise<void> =>
    new Promise((resolve, reject) => {
      queue.push({ record, queuedAt: performance.now(), resolve, reject });
      advance();
    });
}

function countValues(event: AuditEvent): number {
  if (event.type === "value-read" || event.type === "value-used") return 1;
  return event.type === "values-read" || event.type === "values-exported" ? event.secrets.length : 0;
}

/** The salt prevents guessing an erased body from its hash. */
function toBody({ by, event }: AuditEntry) {
  const actor = by === "server" ? { by: "server" } : { by: formatActor(by), address: by.address };
  return { ...event, ...actor, salt: randomUUID() };
}

const outcomes: Partial<Record<AuditEvent["type"], AuditOutcome>> = {
  "value-read": "read",
  "value-used": "read",
  "values-read": "read",
  "values-exported": "read",
  "folders-compared": "read",
  "change-read": "read",
  denied: "denied",
  "integrity-broken": "denied",
  "signed-in": "signed-in",
  "sign-in-refused": "denied",
  "token-exchange-refused": "denied",
};

/** The category in the daily counts. */
function outcomeOf({ type }: AuditEvent): AuditOutcome {
  return outcomes[type] ?? "changed";
}
