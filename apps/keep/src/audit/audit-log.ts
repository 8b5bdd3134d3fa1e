/**
 * @module
 * The audit log: one hash chain per vault and one per account. Guarantees that a change and its record commit
 * atomically, that no value is returned before the record of its read is durable, and that tampering with a chain is
 * detectable from an export alone.
 * Imported by use cases, which record in their own transaction, and by `main.ts`.
 */
import { randomBytes } from "node:crypto";
import { canonicalJson } from "@hearth-and-keep/audit-chain";
import { type Actor, formatActor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { AuditEvent, AuditOutcome } from "./events.ts";
import { appendEvents, appendInOwnTransaction, type NewEvent } from "./queries.ts";

/** The recorded actor: a caller, or the server itself for background work. */
export type AuditActor = Pick<Actor, "kind" | "id" | "address"> | "server";

/** The changed secret and its new revision. */
export type Subject = { readonly id: string; readonly revision: number };

export type AuditLog = {
  /**
   * Records in the transaction of the change. The chain is the id of a vault or of the account. It stays locked until the
   * transaction ends; to avoid deadlocks, a transaction that appends to both appends to the vault's first.
   */
  record(transaction: Transaction, entry: AuditEntry): Promise<void>;
  /** As `record`, for several entries of one chain in one statement. */
  recordAll(transaction: Transaction, chain: string, entries: readonly AuditEntry[]): Promise<void>;
  /** Resolves when the record is durable; values may be returned only then. Concurrent records share a commit. */
  recordRead(accountId: string, entry: AuditEntry): Promise<void>;
};

export type AuditEntry = {
  readonly chain: string;
  readonly by: AuditActor;
  readonly event: AuditEvent;
  readonly subject?: Subject;
};

const maxBatchRecords = 500;

/** Called after each durable commit of read records. */
export type BatchObserver = (records: number, milliseconds: number) => void;

export function createAuditLog(
  database: Pick<Database, "appendInAccount">,
  onBatch: BatchObserver = () => undefined,
): AuditLog {
  const queues = new Map<string, QueuedRead[]>();
  /** Records that arrive during a commit are batched into the next one. */
  const commitQueue = async (accountId: string, chain: string, queue: QueuedRead[]): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.splice(0, maxBatchRecords);
      const events = batch.map(({ event }) => event);
      const startedAt = performance.now();
      try {
        await appendInOwnTransaction(database, { accountId, chain }, events);
        onBatch(batch.length, performance.now() - startedAt);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    queues.delete(chain);
  };
  return {
    record: (transaction, entry) => appendEvents(transaction, entry.chain, [toNewEvent(entry)]),
    recordAll: (transaction, chain, entries) => appendEvents(transaction, chain, entries.map(toNewEvent)),
    recordRead: (accountId, entry) =>
      new Promise((resolve, reject) => {
        const item = { event: toNewEvent(entry), resolve, reject };
        const queue = queues.get(entry.chain);
        if (queue !== undefined) {
          queue.push(item);
          return;
        }
        const newQueue = [item];
        queues.set(entry.chain, newQueue);
        void commitQueue(accountId, entry.chain, newQueue);
      }),
  };
}

function toNewEvent(entry: AuditEntry): NewEvent {
  return {
    body: canonicalJson(toBody(entry)),
    outcome: outcomeOf(entry.event),
    subject: entry.subject,
  };
}

type QueuedRead = {
  readonly event: NewEvent;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** The salt prevents guessing an erased body from its hash. */
function toBody({ by, event }: AuditEntry) {
  const actor = by === "server" ? { by: "server" } : { by: formatActor(by), address: by.address };
  return { ...event, ...actor, salt: randomBytes(12).toString("base64url") };
}

const outcomes: Partial<Record<AuditEvent["type"], AuditOutcome>> = {
  "value-read": "read",
  "values-read": "read",
  "values-exported": "read",
  denied: "denied",
  "integrity-broken": "denied",
  "signed-in": "signed-in",
};

/** The category in the daily counts. */
function outcomeOf({ type }: AuditEvent): AuditOutcome {
  return outcomes[type] ?? "changed";
}
