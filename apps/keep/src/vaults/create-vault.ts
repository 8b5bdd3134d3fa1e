import type { Actor } from "../authorization/actor.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type Changed, changeOnce, type Once } from "../idempotency/change-once.ts";
import { makeId } from "../make-id.ts";
import type { ChangeParts } from "./change-vault.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { countVaults, insertProjectVault, lockVault } from "./queries.ts";

const mostVaults = 100;

/** With its data key, and recorded on its own chain and the account's. */
export function createVault(
  { actor, once }: { readonly actor: Actor; readonly once: Once | undefined },
  name: string,
  { database, vaultKeys, audit }: ChangeParts,
): Promise<Changed<VaultDetail>> {
  return changeOnce(database, { actor, once }, async (transaction) => {
    const place = { accountId: actor.accountId, vaultId: makeId() };
    await refuseOneVaultTooMany(transaction, actor.accountId);
    await insertProjectVault(transaction, place, name);
    await vaultKeys.create(transaction, place);
    const event = { type: "vault-created", vault: place.vaultId, name } as const;
    await audit.record(transaction, { chain: place.vaultId, by: actor, event });
    await audit.record(transaction, { chain: actor.accountId, by: actor, event });
    const row = await lockVault(transaction, place);
    if (row === undefined) throw new Error("A vault that was just made is gone");
    return describeVaultDetail(row);
  });
}

export async function refuseOneVaultTooMany(transaction: Transaction, accountId: string): Promise<void> {
  if ((await countVaults(transaction, accountId)) < mostVaults) return;
  throw requestFailure({ kind: "quota-exceeded", what: "vaults", most: mostVaults });
}
