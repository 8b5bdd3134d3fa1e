import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import {
  listTokenRouteRows,
  listTokenRows,
  lockAccountRow,
  updateAccountRow,
  updateTokenMacs,
  updateTokenRouteMacs,
} from "./queries.ts";
import type { AccountRow, RowMacs } from "./row-macs.ts";

/** Locks the account and returns its epoch, for a row that is added. */
export async function lockEpoch(
  transaction: Transaction,
  accountId: string,
  rowMacs: RowMacs,
): Promise<number> {
  return (await lockGenuine(transaction, accountId, rowMacs)).epoch;
}

async function lockGenuine(
  transaction: Transaction,
  accountId: string,
  rowMacs: RowMacs,
): Promise<AccountRow> {
  const row = await lockAccountRow(transaction, accountId);
  if (row === undefined) throw requestFailure({ kind: "unauthenticated" });
  const { mac, ...account } = row;
  if (!rowMacs.isGenuine({ account }, mac)) throw requestFailure({ kind: "integrity-broken" });
  return account;
}

/**
 * Starts a new epoch around a change that takes a right away. Rows that were genuine before the change, and rows that it
 * adds with the new epoch, are signed again; others keep a MAC that no longer verifies.
 */
export async function inNewEpoch<Result>(
  transaction: Transaction,
  { accountId, rowMacs }: { readonly accountId: string; readonly rowMacs: RowMacs },
  change: (epoch: number) => Promise<Result>,
): Promise<Result> {
  const account = await lockGenuine(transaction, accountId, rowMacs);
  const before = await readGenuine(transaction, account, rowMacs);
  const next = { ...account, epoch: account.epoch + 1 };
  const result = await change(next.epoch);
  await signRows(transaction, next, { rowMacs, ...before });
  return result;
}

/** Takes the rows of an account as they are, once, when an older database is upgraded. Returns the number of tokens. */
export async function signAllRows(
  transaction: Transaction,
  accountId: string,
  rowMacs: RowMacs,
): Promise<number> {
  const row = await lockAccountRow(transaction, accountId);
  if (row === undefined) return 0;
  const { mac: _mac, ...account } = row;
  return signRows(transaction, account, { rowMacs, tokens: "all", routes: "all" });
}

type RowKeys = ReadonlySet<string> | "all";

type RowSelection = {
  readonly rowMacs: RowMacs;
  /** Ids. */
  readonly tokens: RowKeys;
  /** Hashes in hexadecimal. */
  readonly routes: RowKeys;
};

const isSelected = (keys: RowKeys, key: string): boolean => keys === "all" || keys.has(key);

/** Signs the account with its epoch, and the selected rows. */
async function signRows(
  transaction: Transaction,
  account: AccountRow,
  { rowMacs, tokens, routes }: RowSelection,
): Promise<number> {
  const { accountId, epoch } = account;
  const tokenMacs = (await listTokenRows(transaction, accountId))
    .filter(({ id }) => isSelected(tokens, id))
    .map((token) => ({ key: token.id, mac: rowMacs.compute({ token, epoch }) }));
  await updateTokenMacs(transaction, accountId, tokenMacs);
  const routeMacs = (await listTokenRouteRows(transaction, accountId))
    .filter(({ tokenHash }) => isSelected(routes, tokenHash.toString("hex")))
    .map((tokenRoute) => ({ key: tokenRoute.tokenHash, mac: rowMacs.compute({ tokenRoute, epoch }) }));
  await updateTokenRouteMacs(transaction, routeMacs);
  await updateAccountRow(transaction, { accountId, epoch, mac: rowMacs.compute({ account }) });
  return tokenMacs.length;
}

async function readGenuine(
  transaction: Transaction,
  { accountId, epoch }: AccountRow,
  rowMacs: RowMacs,
): Promise<{ readonly tokens: ReadonlySet<string>; readonly routes: ReadonlySet<string> }> {
  const tokens = await listTokenRows(transaction, accountId);
  const routes = await listTokenRouteRows(transaction, accountId);
  return {
    tokens: new Set(
      tokens.filter((token) => rowMacs.isGenuine({ token, epoch }, token.mac)).map(({ id }) => id),
    ),
    routes: new Set(
      routes
        .filter((tokenRoute) => rowMacs.isGenuine({ tokenRoute, epoch }, tokenRoute.mac))
        .map(({ tokenHash }) => tokenHash.toString("hex")),
    ),
  };
}
