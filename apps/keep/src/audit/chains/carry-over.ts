/**
 * @module
 * The hash chains in which earlier versions kept the audit log: read, exported and verified as before, and never
 * extended. Guarantees that the end of each chain is a record of the transparency log, which thereby covers it.
 * Imported by `audit/`, `commands/` and `background.ts`.
 */
import type { Database } from "../../database/open-database.ts";
import type { AuditLog } from "../audit-log.ts";
import { listChainsLeft, takeChainEnd } from "./queries.ts";

export type CarryOverDependencies = {
  readonly database: Pick<Database, "acrossAccounts" | "inAccount">;
  readonly audit: Pick<AuditLog, "record">;
};

/** Records the end of every chain that is not in the log yet. */
export async function carryOverChains({ database, audit }: CarryOverDependencies): Promise<void> {
  for (;;) {
    const chains = await listChainsLeft(database);
    if (chains.length === 0) return;
    for (const { accountId, chain } of chains) {
      await database.inAccount(accountId, async (transaction) => {
        const end = await takeChainEnd(transaction, chain);
        if (end === undefined) return;
        const event = { type: "chain-carried-over", seq: Number(end.seq), hash: end.hash } as const;
        audit.record(transaction, { accountId, vaultId: chain, by: "server", event });
      });
    }
  }
}
