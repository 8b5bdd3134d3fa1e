import type { Transaction } from "../database/transaction.ts";
import type { AuditOutcome } from "./events.ts";

export type NewEvent = {
  readonly body: string;
  readonly outcome: AuditOutcome;
  readonly subject?: { readonly id: string; readonly revision: number } | undefined;
};

export async function appendEvents(
  transaction: Transaction,
  chain: string,
  events: readonly NewEvent[],
): Promise<void> {
  await transaction.query({
    name: "append-audit",
    text: "SELECT append_audit($1, $2, $3, $4, $5)",
    values: [
      chain,
      events.map(({ body }) => body),
      events.map(({ outcome }) => outcome),
      events.map(({ subject }) => subject?.id ?? null),
      events.map(({ subject }) => subject?.revision ?? null),
    ],
  });
}
