/**
 * @module
 * Exchanging the data key of a vault while requests go on. A new key seals from the moment of the request; what older
 * ones sealed is sealed anew in the background, a secret at a time, by whichever node is alive; then the old ones are
 * destroyed. Promises that every value can be read at every moment, and that work cut short is taken up again.
 * Imported by `routes.ts` and `commands/serve.ts`.
 */
import type { AuditLog } from "../../audit/audit-log.ts";
import type { Actor } from "../../authorization/actor.ts";
import type { Database } from "../../database/open-database.ts";
import { requestFailure } from "../../failures.ts";
import { generateId } from "../../generate-id.ts";
import { type IdempotencyKey, runIdempotent } from "../../idempotency/run-idempotent.ts";
import type { VaultKeys } from "../vault-keys.ts";
import { insertOperation, lockVault, type OperationRow } from "./queries.ts";

export type RotationDependencies = {
  readonly database: Pick<Database, "inAccount">;
  readonly vaultKeys: Pick<VaultKeys, "rotate">;
  readonly audit: AuditLog;
};

export type RotationRequest = { readonly vaultId: string; readonly once: IdempotencyKey | undefined };

export type Operation = {
  readonly id: string;
  readonly kind: OperationRow["kind"];
  readonly vault_id: string;
  readonly state: OperationRow["state"];
  readonly done_items: number;
  readonly created_at: string;
  readonly updated_at: string;
};

/** From the commit on, everything new is sealed with the new key; the operation is what is left to do. */
export async function rotateDataKey(
  actor: Actor,
  { vaultId, once }: RotationRequest,
  { database, vaultKeys, audit }: RotationDependencies,
): Promise<Operation> {
  const place = { accountId: actor.accountId, vaultId };
  const { result } = await runIdempotent(database, { actor, idempotencyKey: once }, async (transaction) => {
    if ((await lockVault(transaction, place)) !== "live") throw requestFailure({ kind: "not-found" });
    const operation = await insertOperation(transaction, place, generateId());
    if (operation === undefined) {
      throw requestFailure({
        kind: "conflict",
        reason: "The data key of this vault is being rotated already",
      });
    }
    const { version } = await vaultKeys.rotate(transaction, place);
    await audit.record(transaction, {
      chain: vaultId,
      by: actor,
      event: { type: "data-key-rotated", version },
    });
    return describeOperation(operation);
  });
  return result;
}

export function describeOperation({ done_items, created_at, updated_at, ...row }: OperationRow): Operation {
  return {
    ...row,
    done_items: Number(done_items),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
