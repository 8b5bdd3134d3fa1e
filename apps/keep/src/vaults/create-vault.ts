import type { Actor } from "../authorization/actor.ts";
import { assertAccountAllowed } from "../authorization/grant.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { type GrantDependencies, grantToCreator } from "../grants/change-grants.ts";
import { type IdempotencyKey, type IdempotentResult, runIdempotent } from "../idempotency/run-idempotent.ts";
import type { VaultHeads } from "../keys/vault-heads/vault-heads.ts";
import type { VaultRef } from "../keys/vault-keys.ts";
import type { ChangeDependencies } from "./change-queue.ts";
import { describeVaultDetail, type VaultDetail } from "./describe-vault.ts";
import { countVaults, insertVault, type VaultDetailRow } from "./queries.ts";

const maxVaults = 100;

/** Creates the vault with its data key; recorded on the vault's and the account's audit chains. */
export function createVault(
  request: CreateRequest,
  name: string,
  dependencies: CreateDependencies,
): Promise<IdempotentResult<VaultDetail>> {
  assertAccountAllowed(request.actor.grant, "vaults:write");
  return addVault(request, name, dependencies);
}

type CreateRequest = { readonly actor: Actor; readonly idempotencyKey: IdempotencyKey | undefined };

type CreateDependencies = ChangeDependencies & GrantDependencies;

/** The caller has checked that the actor may. A member of an organisation manages the vaults that they create. */
export function addVault(
  { actor, idempotencyKey }: CreateRequest,
  name: string,
  { database, audit, serverKeys, ...keys }: CreateDependencies,
): Promise<IdempotentResult<VaultDetail>> {
  return runIdempotent(database, { actor, idempotencyKey }, async (transaction) => {
    const vaultRef = { accountId: actor.accountId, vaultId: generateId() };
    await assertVaultQuota(transaction, actor.accountId);
    const row = await insertNewVault(transaction, vaultRef, { kind: "project", name, revision: 1, ...keys });
    const event = { type: "vault-created", vault: vaultRef.vaultId, name } as const;
    const entry = { accountId: actor.accountId, by: actor, event };
    audit.record(transaction, { ...entry, ...vaultRef }, entry);
    await grantToCreator(transaction, { actor, vaultId: vaultRef.vaultId }, { audit, serverKeys });
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
    protected_paths: [],
    decided_changes: 0,
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
