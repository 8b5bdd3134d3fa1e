import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import {
  listIdentityRows,
  listInvitationRows,
  listMemberRows,
  listSessionRows,
  listTeamGroupRows,
  listTokenRouteRows,
  listTokenRows,
  listTrustRuleRows,
  listVaultAccessRows,
  lockAccountRow,
  type NewMac,
  type Signed,
  updateAccountRow,
  updateMacs,
  updateTokenRouteMacs,
} from "./queries.ts";
import type { AccountRow, RowMacs, RowOfEpoch } from "./row-macs.ts";

/** Locks the account and returns its epoch, for a row that is added. Throws when the account is not active. */
export async function lockEpoch(
  transaction: Transaction,
  accountId: string,
  rowMacs: RowMacs,
): Promise<number> {
  return (await lockGenuine(transaction, { accountId, rowMacs })).epoch;
}

/** As `lockEpoch`; undefined when the account is not active. */
export async function lockEpochIfActive(
  transaction: Transaction,
  accountId: string,
  rowMacs: RowMacs,
): Promise<number | undefined> {
  return (await lockWithStatus(transaction, { accountId, rowMacs }))?.epoch;
}

export type AccountChange = {
  readonly accountId: string;
  readonly rowMacs: RowMacs;
  /** The status that the account must have; active by default. */
  readonly status?: "active" | "disabled" | "paused";
};

async function lockGenuine(transaction: Transaction, change: AccountChange): Promise<AccountRow> {
  const account = await lockWithStatus(transaction, change);
  if (account === undefined) throw requestFailure({ kind: "unauthenticated" });
  return account;
}

/** Locks the account and returns its row, whose MAC is right; undefined when it has another status. */
async function lockWithStatus(
  transaction: Transaction,
  { accountId, rowMacs, status = "active" }: AccountChange,
): Promise<AccountRow | undefined> {
  const row = await lockAccountRow(transaction, accountId);
  if (row?.status !== status) return undefined;
  const { mac, ...account } = row;
  if (!rowMacs.isGenuine({ account }, mac)) throw requestFailure({ kind: "integrity-broken" });
  return account;
}

export type Epochs = { readonly previous: number; readonly next: number };

export type EpochChange<Result> = {
  readonly result: Result;
  /** Rows that the change revokes. They are not signed again, whatever the database returns for them afterwards. */
  readonly isRevoked: (row: RowOfEpoch) => boolean;
  /** What the change makes of the account itself. */
  readonly account?: Partial<Pick<AccountRow, "status" | "isOperator">>;
};

/**
 * Starts a new epoch around a change that takes a right away. The other rows of the account are signed again if they have
 * a valid MAC of the previous epoch. Each row is verified and signed as it was read once: whoever can write to the
 * database could change it between two reads. A row that the change itself adds or modifies must get a MAC from it.
 */
export async function inNewEpoch<Result>(
  transaction: Transaction,
  accountChange: AccountChange,
  change: (epochs: Epochs) => Promise<EpochChange<Result>>,
): Promise<Result> {
  const { rowMacs } = accountChange;
  const account = await lockGenuine(transaction, accountChange);
  const { epoch } = account;
  const next = { ...account, epoch: epoch + 1 };
  const { result, isRevoked, account: changed } = await change({ previous: epoch, next: next.epoch });
  await signRows(
    transaction,
    { ...next, ...changed },
    {
      rowMacs,
      isSelected: (row, mac) => !isRevoked(row) && rowMacs.isGenuine({ ...row, epoch }, mac),
    },
  );
  return result;
}

export type SignedCounts = { readonly tokens: number; readonly identities: number };

/** Takes the rows of an account as they are, once, when an older database is upgraded. */
export async function signAllRows(
  transaction: Transaction,
  accountId: string,
  rowMacs: RowMacs,
): Promise<SignedCounts> {
  const row = await lockAccountRow(transaction, accountId);
  if (row === undefined) return { tokens: 0, identities: 0 };
  const { mac: _mac, ...account } = row;
  return signRows(transaction, account, { rowMacs, isSelected: () => true });
}

type RowSelection = {
  readonly rowMacs: RowMacs;
  readonly isSelected: (row: RowOfEpoch, mac: Buffer | null) => boolean;
};

/** Signs the account with its epoch, and the selected rows. */
async function signRows(
  transaction: Transaction,
  account: AccountRow,
  { rowMacs, isSelected }: RowSelection,
): Promise<SignedCounts> {
  const { accountId, epoch } = account;
  const sign = <Row>(
    rows: readonly Signed<Row>[],
    tag: (row: Row) => RowOfEpoch,
  ): readonly SignedRow<Row>[] =>
    rows
      .filter((row) => isSelected(tag(row), row.mac))
      .map((row) => ({ row, mac: rowMacs.compute({ ...tag(row), epoch }) }));
  const tokens = sign(await listTokenRows(transaction, accountId), (token) => ({ token }));
  await updateMacs(transaction, { accountId, table: "api_token" }, tokens.map(byId));
  const routes = sign(await listTokenRouteRows(transaction, accountId), (tokenRoute) => ({ tokenRoute }));
  await updateTokenRouteMacs(
    transaction,
    routes.map(({ row, mac }) => ({ key: row.tokenHash, mac })),
  );
  const sessions = sign(await listSessionRows(transaction, accountId), (session) => ({ session }));
  await updateMacs(transaction, { accountId, table: "session" }, sessions.map(byId));
  const identities = sign(await listIdentityRows(transaction, accountId), (identity) => ({ identity }));
  await updateMacs(transaction, { accountId, table: "identity" }, identities.map(byId));
  if (account.kind === "organisation") {
    const members = sign(await listMemberRows(transaction, accountId), (member) => ({ member }));
    const memberMacs = members.map(({ row, mac }) => ({ key: row.personId, mac }));
    await updateMacs(transaction, { accountId, table: "member" }, memberMacs);
    const groups = sign(await listTeamGroupRows(transaction, accountId), (teamGroup) => ({ teamGroup }));
    const groupMacs = groups.map(({ row, mac }) => ({ key: row.teamId, mac }));
    await updateMacs(transaction, { accountId, table: "team" }, groupMacs);
    const access = sign(await listVaultAccessRows(transaction, accountId), (vaultAccess) => ({
      vaultAccess,
    }));
    const accessMacs = access.map(({ row, mac }) => ({ key: row.vaultId, mac }));
    await updateMacs(transaction, { accountId, table: "vault_access" }, accessMacs);
    const invitations = sign(await listInvitationRows(transaction, accountId), (invitation) => ({
      invitation,
    }));
    await updateMacs(transaction, { accountId, table: "invitation" }, invitations.map(byId));
  }
  const trustRules = sign(await listTrustRuleRows(transaction, accountId), (trustRule) => ({ trustRule }));
  await updateMacs(transaction, { accountId, table: "trust_rule" }, trustRules.map(byId));
  await updateAccountRow(transaction, { ...account, mac: rowMacs.compute({ account }) });
  return { tokens: tokens.length, identities: identities.length };
}

type SignedRow<Row> = { readonly row: Row; readonly mac: Buffer };

function byId({ row, mac }: SignedRow<{ readonly id: string }>): NewMac<string> {
  return { key: row.id, mac };
}
