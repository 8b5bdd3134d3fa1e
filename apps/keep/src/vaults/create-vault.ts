import type { Actor } from "../authorization/actor.ts";
import { assertFolderAllowed } from "../authorization/grant.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { type IdempotencyKey, type IdempotentResult, runIdempotent } from "../idempotency/run-idempotent.ts";
import type { VaultHeads } from "../keys/vault-heads/vault-heads.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import type { ChangeDependencies } from "./change-queue.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { countVaults, insertVault, type VaultDetailRow } from "./queries.ts";

const maxVaults = 100;

/** Creates the vault with its data key; recorded on the vault's and the account's audit chains. */
export function createVault(
  { actor, idempotencyKey }: { readonly actor: Actor; readonly idempotencyKey: IdempotencyKey | undefined },
  name: string,
  { database, audit, ...keys }: ChangeDependencies,
): Promise<IdempotentResult<VaultDetail>> {
  assertFolderAllowed(actor.grant, "/");
  return runIdempotent(database, { actor, idempotencyKey }, async (transaction) => {
    const vaultRef = { accountId: actor.accountId, vaultId: generateId() };
    await assertVaultQuota(transaction, actor.accountId);
    const row = await insertNewVault(transaction, vaultRef, { kind: "project", name, revision: 1, ...keys });
    const event = { type: "vault-created", vault: vaultRef.vaultId, name } as const;
    const entry = { accountId: actor.accountId, by: actor, event };
    audit.record(transaction, { ...entry, ...vaultRef }, entry);
    return describeVaultDetail(row);
  });
}

type NewVault = Pick<VaultDetailRow, "kind" | "name" | "revision"> &
  Pick<ChangeDependencies, "vaultKeys"> & { readonly vaultHeads: Pick<VaultHeads, "sealEmpty"> };

/** Inserts the vault with its first data key. The caller records the event. */
export async function insertNewVault(
  transaction: Transaction,
  vaultRef: VaultRef,
  { kind, name, revision, vaultKeys, vaultHeads }: NewVault,
): Promise<VaultDetailRow> {
  const vault = {
    kind,
    name,
    revision,
    demands_preconditions: false,
    most_versions: 100,
    prunes_versions: true,
  };
  const head = vaultHeads.sealEmpty(vaultRef, {
    ...vault,
    environments: [],
    base_folder: null,
    deleted_at: null,
  });
  const row = await insertVault(transaction, vaultRef, { ...vault, head });
  await vaultKeys.create(transaction, vaultRef);
  return row;
}

export async function assertVaultQuota(transaction: Transaction, accountId: string): Promise<void> {
  if ((await countVaults(transaction, accountId)) < maxVaults) return;
  throw requestFailure({ kind: "quota-exceeded", resource: "vaults", max: maxVaults });
}
