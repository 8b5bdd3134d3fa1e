/**
 * @module
 * Data key rotation without downtime. A new key encrypts new values immediately; existing secrets are re-encrypted in the
 * background, one at a time, by any live node; then the old keys are destroyed. Guarantees that every value stays
 * readable throughout, and that interrupted work is resumed.
 * Imported by `routes.ts` and `commands/serve.ts`.
 */
import type { AuditLog } from "../../audit/audit-log.ts";
import type { Actor } from "../../authorization/actor.ts";
import { assertFolderAllowed } from "../../authorization/grant.ts";
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

export type RotationRequest = {
  readonly vaultId: string;
  readonly idempotencyKey: IdempotencyKey | undefined;
};

export type Operation = {
  readonly id: string;
  readonly kind: OperationRow["kind"];
  readonly vault_id: string;
  readonly state: OperationRow["state"];
  readonly done_items: number;
  readonly created_at: string;
  readonly updated_at: string;
};

/** Creates the new key, which encrypts new values once this commits; the operation tracks the re-encryption. */
export async function rotateDataKey(
  actor: Actor,
  { vaultId, idempotencyKey }: RotationRequest,
  { database, vaultKeys, audit }: RotationDependencies,
): Promise<Operation> {
  assertFolderAllowed(actor.grant, { scope: "keys:rotate", vaultId }, "/");
  const vaultRef = { accountId: actor.accountId, vaultId };
  const { result } = await runIdempotent(database, { actor, idempotencyKey }, async (transaction) => {
    if ((await lockVault(transaction, vaultRef)) !== "live") throw requestFailure({ kind: "not-found" });
    const operation = await insertOperation(transaction, vaultRef, generateId());
    if (operation === undefined) {
      throw requestFailure({
        kind: "conflict",
        reason: "A data key rotation of this vault is already in progress",
      });
    }
    const { version } = await vaultKeys.rotate(transaction, vaultRef);
    audit.record(transaction, {
      ...vaultRef,
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
