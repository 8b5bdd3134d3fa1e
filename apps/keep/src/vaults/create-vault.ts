import type { Actor } from "../authorization/actor.ts";
import { assertFolderAllowed } from "../authorization/grant.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { type IdempotencyKey, type IdempotentResult, runIdempotent } from "../idempotency/run-idempotent.ts";
import type { ChangeDependencies } from "./change-vault.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { countVaults, insertProjectVault, lockVault } from "./queries.ts";

const maxVaults = 100;

/** Creates the vault with its data key; recorded on the vault's and the account's audit chains. */
export function createVault(
  { actor, idempotencyKey }: { readonly actor: Actor; readonly idempotencyKey: IdempotencyKey | undefined },
  name: string,
  { database, vaultKeys, audit }: ChangeDependencies,
): Promise<IdempotentResult<VaultDetail>> {
  assertFolderAllowed(actor.grant, "/");
  return runIdempotent(database, { actor, idempotencyKey }, async (transaction) => {
    const vaultRef = { accountId: actor.accountId, vaultId: generateId() };
    await assertVaultQuota(transaction, actor.accountId);
    await insertProjectVault(transaction, vaultRef, name);
    await vaultKeys.create(transaction, vaultRef);
    const event = { type: "vault-created", vault: vaultRef.vaultId, name } as const;
    await audit.record(transaction, { chain: vaultRef.vaultId, by: actor, event });
    await audit.record(transaction, { chain: actor.accountId, by: actor, event });
    const row = await lockVault(transaction, vaultRef);
    if (row === undefined) throw new Error("A newly created vault disappeared");
    return describeVaultDetail(row);
  });
}

export async function assertVaultQuota(transaction: Transaction, accountId: string): Promise<void> {
  if ((await countVaults(transaction, accountId)) < maxVaults) return;
  throw requestFailure({ kind: "quota-exceeded", resource: "vaults", max: maxVaults });
}
