import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import { lockAccountRow } from "../../keys/row-integrity/queries.ts";
import type { RowMacs } from "../../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../../keys/server-keys.ts";
import { listGenuineMembers } from "../../organisations/change-members.ts";
import { findMembership } from "../../organisations/find-membership.ts";
import { enterAccount } from "./queries.ts";

/** The accounts between which a person transfers a vault: their own one, and organisations of which they are an owner. */
export type Parties = {
  readonly from: string;
  readonly to: string;
  readonly personId: string;
};

type PartyDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

/** Before anything is locked: nobody may hold the lock of an account that they do not manage. */
export async function assertParties(
  { from, to, personId }: Parties,
  dependencies: PartyDependencies,
): Promise<void> {
  const isOwner = async (accountId: string): Promise<boolean> =>
    accountId === personId || (await findMembership({ accountId, personId }, dependencies))?.role === "owner";
  if (!(await isOwner(from))) throw requestFailure({ kind: "role-required" });
  if (!(await isOwner(to))) throw invalidTarget();
}

/** Whether the account that was locked is an organisation. */
export type LockedParties = { readonly isToOrganisation: boolean };

/**
 * Locks both accounts in the order of their ids, so that transfers in opposite directions do not wait for each other, and
 * checks again: a person may have lost a role since. Leaves the transaction in the first one.
 */
export async function lockParties(
  transaction: Transaction,
  { from, to, personId }: Parties,
  rowMacs: RowMacs,
): Promise<LockedParties> {
  const isOrganisation = new Map<string, boolean>();
  for (const accountId of [from, to].toSorted()) {
    await enterAccount(transaction, accountId);
    const kind = await lockOwned(transaction, { accountId, personId }, rowMacs);
    if (kind === undefined)
      throw accountId === from ? requestFailure({ kind: "role-required" }) : invalidTarget();
    isOrganisation.set(accountId, kind === "organisation");
  }
  await enterAccount(transaction, from);
  return { isToOrganisation: isOrganisation.get(to) === true };
}

/** Undefined unless the account is active, and the person's own one or an organisation that they own. */
async function lockOwned(
  transaction: Transaction,
  { accountId, personId }: { readonly accountId: string; readonly personId: string },
  rowMacs: RowMacs,
): Promise<"person" | "organisation" | undefined> {
  const row = await lockAccountRow(transaction, accountId);
  if (row?.status !== "active") return undefined;
  const { mac, ...account } = row;
  if (!rowMacs.isGenuine({ account }, mac)) throw requestFailure({ kind: "integrity-broken" });
  const { kind, epoch } = account;
  if (kind === "person") return accountId === personId ? kind : undefined;
  const members = await listGenuineMembers(transaction, { accountId, epoch, rowMacs });
  return members.some((member) => member.personId === personId && member.role === "owner") ? kind : undefined;
}

/** The same for an account that does not exist. */
function invalidTarget(): Error {
  const reason = "must be the id of your own account, or of an organisation of which you are an owner";
  return requestFailure({ kind: "request-invalid", errors: [{ field: "to", reason }] });
}
