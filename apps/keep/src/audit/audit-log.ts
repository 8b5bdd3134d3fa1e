/**
 * @module
 * The audit log: who did what, when, in one hash chain for each vault and one for each account. Promises that a change
 * and its record stand or fall together, that no value leaves before the record of its reading is durable, and that a
 * chain that was tampered with is found out, with nothing but an export of it.
 * Imported by use cases, which record in their own transaction, and by `main.ts`.
 */
import { randomBytes } from "node:crypto";
import { canonicalJson } from "@hearth-and-keep/audit-chain";
import type { Actor } from "../authorization/actor.ts";
import { formatActor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { type AuditEvent, outcomeOf } from "./events.ts";
import { appendAtOnce, appendEvents, type NewEvent } from "./queries.ts";

/** Who is written down: somebody who acts, or the server on its own behalf. */
export type Recorded = Pick<Actor, "kind" | "id" | "address"> | "server";

/** The secret that a change is about, and the vault's revision since. */
export type Subject = { readonly id: string; readonly revision: number };

export type AuditLog = {
  /**
   * In the transaction of the change. The chain is a vault's id, or the account's; it stays locked until the
   * transaction ends, so a transaction that adds to both adds to the vault's first.
   */
  record(transaction: Transaction, entry: AuditEntry): Promise<void>;
  /** Settles when the record is durable: only then may what was read leave. Several at once cost one commit. */
  recordRead(accountId: string, entry: AuditEntry): Promise<void>;
};

export type AuditEntry = {
  readonly chain: string;
  readonly by: Recorded;
  readonly event: AuditEvent;
  readonly subject?: Subject;
};

const mostInOneCommit = 500;

/** Told of every commit of records of reads, once it is durable. */
export type BatchObserver = (records: number, milliseconds: number) => void;

export function createAuditLog(
  database: Pick<Database, "askInAccount">,
  onBatch: BatchObserver = () => undefined,
): AuditLog {
  const waiting = new Map<string, Waiting[]>();
  /** While one commit is under way the next ones gather, and go together. */
  const commitAll = async (accountId: string, chain: string, line: Waiting[]): Promise<void> => {
    while (line.length > 0) {
      const batch = line.splice(0, mostInOneCommit);
      const events = batch.map(({ event }) => event);
      const begunAt = performance.now();
      try {
        await appendAtOnce(database, { accountId, chain }, events);
        onBatch(batch.length, performance.now() - begunAt);
        for (const { resolve } of batch) resolve();
      } catch (problem) {
        for (const { reject } of batch) reject(problem);
      }
    }
    waiting.delete(chain);
  };
  return {
    record: (transaction, entry) => appendEvents(transaction, entry.chain, [write(entry)]),
    recordRead: (accountId, entry) =>
      new Promise((resolve, reject) => {
        const item = { event: write(entry), resolve, reject };
        const line = waiting.get(entry.chain);
        if (line !== undefined) {
          line.push(item);
          return;
        }
        const begun = [item];
        waiting.set(entry.chain, begun);
        void commitAll(accountId, entry.chain, begun);
      }),
  };
}

function write(entry: AuditEntry): NewEvent {
  return {
    body: canonicalJson(describe(entry)),
    outcome: outcomeOf(entry.event),
    subject: entry.subject,
  };
}

type Waiting = {
  readonly event: NewEvent;
  readonly resolve: () => void;
  readonly reject: (problem: unknown) => void;
};

/** The salt keeps a body that was erased from being guessed by its hash. */
function describe({ by, event }: AuditEntry) {
  const who = by === "server" ? { by: "server" } : { by: formatActor(by), address: by.address };
  return { ...event, ...who, salt: randomBytes(12).toString("base64url") };
}
