/**
 * @module
 * Transfer of a vault to another account: from a person to an organisation that they own, and from there to another one or
 * back. Guarantees that the vault is in one of the two accounts with everything in it, also after a crash; that values,
 * ids and versions stay; and that nothing which opened the vault in the first account opens it afterwards.
 * Imported by `routes.ts`.
 */
import type { Actor } from "../../authorization/actor.ts";
import type { Revocation } from "../../cluster/cache-invalidation.ts";
import { notifyNodes } from "../../cluster/queries.ts";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import { grantToCreator } from "../../grants/change-grants.ts";
import { updateWrappedKey } from "../../keys/queries.ts";
import type { ServerKeys } from "../../keys/server-keys.ts";
import { assertPreconditions } from "../../preconditions.ts";
import { assertSecretQuota, reserveBytes } from "../../secrets/write-secret.ts";
import type { ChangeRequest } from "../change-queue.ts";
import { assertVaultQuota } from "../create-vault.ts";
import { describeVaultDetail, type VaultDetail } from "../describe-vault.ts";
import type { OpenDependencies } from "../open-changes.ts";
import { deleteVaultRows, insertVaultRoute, type LockedVaultRow, lockVault, readVault } from "../queries.ts";
import { endAccess } from "./end-access.ts";
import { assertParties, lockParties, type Parties } from "./parties.ts";
import {
  copyRows,
  deleteOperations,
  enterAccount,
  hasPendingChanges,
  isRotating,
  moveVersions,
  readAmounts,
  type Transfer,
  updateHead,
} from "./queries.ts";

export type TransferDependencies = OpenDependencies & {
  readonly database: Pick<Database, "query" | "queryInAccount" | "inAccount">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

type TransferRequest = Pick<ChangeRequest, "actor" | "vaultId" | "preconditions">;

/** Returns the vault as it is when it is in that account already, so that a request can be repeated. */
export async function transferVault(
  { actor, vaultId, preconditions }: TransferRequest,
  to: string,
  dependencies: TransferDependencies,
): Promise<VaultDetail> {
  const { database } = dependencies;
  const from = { accountId: actor.accountId, vaultId };
  const found = await readVault(database, from);
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  const parties = { from: from.accountId, to, personId: actor.personId ?? actor.accountId };
  await assertParties(parties, dependencies);
  if (to === from.accountId) return describeVaultDetail(found);
  return database.inAccount(from.accountId, async (transaction) => {
    const { isToOrganisation } = await lockParties(transaction, parties, dependencies.serverKeys.rowMacs);
    const vault = await lockVault(transaction, from);
    if (vault === undefined || vault.deleted_at !== null) throw requestFailure({ kind: "not-found" });
    assertPreconditions(preconditions, {
      revision: vault.revision,
      isRequired: vault.demands_preconditions,
    });
    await assertTransferable(transaction, { from, to }, vault);
    const context = { actors: actorsOf(actor, parties, isToOrganisation), transfer: { from, to }, vault };
    return moveVault(transaction, { ...context, isToOrganisation }, dependencies);
  });
}

/** Who transfers, as the logs of both accounts name them. */
type Actors = { readonly inFirst: Actor; readonly inSecond: Actor };

function actorsOf(actor: Actor, { to, personId }: Parties, isToOrganisation: boolean): Actors {
  const { personId: _personId, ...person } = actor;
  const inSecond = { ...person, accountId: to, ...(isToOrganisation ? { personId } : {}) };
  return { inFirst: actor, inSecond };
}

async function assertTransferable(
  transaction: Transaction,
  { from, to }: Transfer,
  vault: LockedVaultRow,
): Promise<void> {
  if (vault.kind === "personal")
    throw conflict(
      "The personal vault stays in its account; create another vault, and move the secrets there",
    );
  if (vault.protected_paths.length > 0)
    throw conflict("The vault has protected paths, which end with an approval; remove them first");
  if (await hasPendingChanges(transaction, from))
    throw conflict("Changes of the vault wait for an approval; decide them first");
  if (await isRotating(transaction, from))
    throw conflict("A data key rotation of this vault is in progress; try again when it is done");
  const moved = await readAmounts(transaction, from.accountId, from.vaultId);
  await enterAccount(transaction, to);
  await assertVaultQuota(transaction, to);
  const usage = { ...(await readAmounts(transaction, to, null)) };
  assertSecretQuota({ usage }, { live: moved.liveSecrets, all: moved.allSecrets });
  reserveBytes({ usage }, moved.storedBytes);
  await enterAccount(transaction, from.accountId);
}

function conflict(reason: string): Error {
  return requestFailure({ kind: "conflict", reason });
}

type Move = {
  readonly actors: Actors;
  readonly transfer: Transfer;
  /** As it is before the transfer, locked. */
  readonly vault: LockedVaultRow;
  readonly isToOrganisation: boolean;
};

async function moveVault(
  transaction: Transaction,
  move: Move,
  dependencies: TransferDependencies,
): Promise<VaultDetail> {
  const { actors, transfer, vault, isToOrganisation } = move;
  const { audit, serverKeys } = dependencies;
  const { from, to } = transfer;
  const { vaultId } = from;
  const moved = { ...vault, revision: vault.revision + 1 };
  const ended = await endAccess(
    transaction,
    { vaultRef: from, by: actors.inFirst },
    { audit, rowMacs: serverKeys.rowMacs },
  );
  await moveRows(transaction, { transfer, revision: moved.revision }, dependencies);
  if (isToOrganisation) {
    await insertVaultRoute(transaction, { accountId: to, vaultId });
    await grantToCreator(transaction, { actor: actors.inSecond, vaultId }, dependencies);
  }
  record(transaction, { ...move, vault: moved }, dependencies);
  await notify(transaction, transfer, ended);
  return describeVaultDetail(moved);
}

type RowMove = { readonly transfer: Transfer; readonly revision: number };

/** Leaves the transaction in the second account. Parents are copied before their children are moved, and deleted after. */
async function moveRows(
  transaction: Transaction,
  { transfer, revision }: RowMove,
  { vaultHeads, vaultKeys }: Pick<TransferDependencies, "vaultHeads" | "vaultKeys">,
): Promise<void> {
  const { from, to: accountId } = transfer;
  const to = { ...from, accountId };
  const { head, secrets } = await vaultHeads.sealForTransfer(transaction, { from, to, revision });
  const keys = await vaultKeys.wrapForTransfer(transaction, from, to);
  await copyRows(transaction, transfer, "vault");
  await copyRows(transaction, transfer, "vault_key");
  const copied = await copyRows(transaction, transfer, "secret");
  if (copied !== secrets) throw new Error(`Copied ${copied} of ${secrets} secrets`);
  await moveAllVersions(transaction, transfer);
  await copyRows(transaction, transfer, "folder");
  await copyRows(transaction, transfer, "operation");
  await enterAccount(transaction, from.accountId);
  await deleteOperations(transaction, from);
  await deleteVaultRows(transaction, from);
  await enterAccount(transaction, accountId);
  await updateHead(transaction, to, { revision, head });
  for (const key of keys) await updateWrappedKey(transaction, to, key);
}

async function moveAllVersions(transaction: Transaction, transfer: Transfer): Promise<void> {
  let moved: number;
  do moved = await moveVersions(transaction, transfer);
  while (moved > 0);
}

/** In the logs of both accounts, and of the vault in both: that of the first ends here, and that of the second begins. */
function record(
  transaction: Transaction,
  { actors, transfer: { from, to }, vault }: Move,
  { audit }: Pick<TransferDependencies, "audit">,
): void {
  const { accountId, vaultId } = from;
  const fields = { vault: vaultId, name: vault.name, from: accountId, to };
  const subject = { id: vaultId, revision: vault.revision };
  const left = {
    accountId,
    by: actors.inFirst,
    event: { type: "vault-transferred-out", ...fields },
  } as const;
  const entered = {
    accountId: to,
    by: actors.inSecond,
    event: { type: "vault-transferred-in", ...fields },
  } as const;
  audit.record(transaction, left, { ...left, vaultId, subject }, entered, { ...entered, vaultId, subject });
}

/** The transaction's last statements. */
async function notify(
  transaction: Transaction,
  { from: { accountId, vaultId }, to }: Transfer,
  ended: readonly Revocation[],
): Promise<void> {
  const ofVault = { kind: "vault", subjectId: vaultId } as const;
  await notifyNodes(transaction, to, [{ kind: "access", subjectId: to }]);
  await notifyNodes(transaction, accountId, [...ended, ofVault, { kind: "access", subjectId: accountId }]);
}
