import type { Database } from "../../database/open-database.ts";
import type { ServerKeys } from "../../keys/server-keys.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";
import { changeInTransaction, type OpenDependencies } from "../../vaults/open-changes.ts";
import { endChanges } from "./end-changes.ts";
import { listPendingChanges } from "./queries.ts";

type ExpiryDependencies = OpenDependencies & {
  readonly database: Pick<Database, "inAccount">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

/** Ends the changes of a vault that nobody decided in time. False when there are none any more. */
export function expireChanges(vaultRef: VaultRef, dependencies: ExpiryDependencies): Promise<boolean> {
  return dependencies.database.inAccount(vaultRef.accountId, (transaction) =>
    changeInTransaction(
      transaction,
      { vaultRef, by: "server", state: "any", dependencies },
      async (change) => {
        const pending = await listPendingChanges(transaction, vaultRef);
        const rows = pending.filter(({ expiresAt, readAt }) => expiresAt <= readAt);
        if (rows.length > 0)
          await endChanges(change, { rows, state: "expired" }, dependencies.serverKeys.rowMacs);
        return rows.length > 0;
      },
    ),
  );
}
