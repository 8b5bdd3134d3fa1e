import type { AuditLog } from "../audit/audit-log.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { inNewEpoch } from "../keys/row-integrity/account-epoch.ts";
import { lockAccountRow } from "../keys/row-integrity/queries.ts";
import type { AccountRow } from "../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { revokeSessionRows } from "../sign-in/queries.ts";
import { isSelectedSession } from "../sign-in/revoke-sessions.ts";

export type OperatorDependencies = {
  readonly audit: AuditLog;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

export type AccountAction = {
  readonly accountId: string;
  /** The operator's account; "command-line" for the administrator of the server. */
  readonly operator: string;
};

/**
 * Ends all sessions, on every node when the transaction commits, and refuses sign-ins and tokens until the account is
 * resumed. Tokens keep their rows, because the programs that use them should work again after a mistaken suspension.
 */
export async function suspendAccount(
  transaction: Transaction,
  { accountId, operator }: AccountAction,
  { audit, serverKeys: { rowMacs } }: OperatorDependencies,
): Promise<void> {
  const { status } = await lockLive(transaction, accountId);
  if (status === "disabled") return;
  // The new epoch, so that the row of the account from before does not fit those of its sessions and tokens.
  await inNewEpoch(transaction, { accountId, rowMacs, status }, async () => ({
    result: await revokeSessionRows(transaction, accountId, "all"),
    isRevoked: (row) => isSelectedSession(row, "all"),
    account: { status: "disabled" },
  }));
  audit.record(transaction, { accountId, by: "server", event: { type: "account-suspended", operator } });
  await notifyNodes(transaction, accountId, [{ kind: "account", subjectId: accountId }]);
}

/** Accepts sign-ins and tokens again. An account that is paused is resumed by a sign-in only. */
export async function resumeAccount(
  transaction: Transaction,
  { accountId, operator }: AccountAction,
  { audit, serverKeys: { rowMacs } }: OperatorDependencies,
): Promise<void> {
  const { status } = await lockLive(transaction, accountId);
  if (status === "active") return;
  if (status === "paused") throw requestFailure({ kind: "conflict", reason: accountPaused });
  await inNewEpoch(transaction, { accountId, rowMacs, status: "disabled" }, async () => ({
    result: undefined,
    isRevoked: (row) => isSelectedSession(row, "all"),
    account: { status: "active" },
  }));
  audit.record(transaction, { accountId, by: "server", event: { type: "account-resumed", operator } });
  await notifyNodes(transaction, accountId, [{ kind: "account", subjectId: accountId }]);
}

/** Makes an account an operator's, or an ordinary one again; in force at the next request of its sessions. */
export async function changeOperator(
  transaction: Transaction,
  { accountId, isOperator }: Pick<AccountRow, "accountId" | "isOperator">,
  { audit, serverKeys: { rowMacs } }: OperatorDependencies,
): Promise<void> {
  const { status, isOperator: wasOperator } = await lockLive(transaction, accountId);
  if (wasOperator === isOperator) return;
  await inNewEpoch(transaction, { accountId, rowMacs, status }, async () => ({
    result: undefined,
    isRevoked: () => false,
    account: { isOperator },
  }));
  const event = { type: isOperator ? "operator-added" : "operator-removed" } as const;
  audit.record(transaction, { accountId, by: "server", event });
}

const accountPaused =
  "This account is paused because no rule of admission is known to admit its people; it resumes when one of them is admitted and signs in";

type LiveAccount = { readonly status: "active" | "disabled" | "paused"; readonly isOperator: boolean };

async function lockLive(transaction: Transaction, accountId: string): Promise<LiveAccount> {
  const row = await lockAccountRow(transaction, accountId);
  const status = row?.status;
  if (row === undefined || (status !== "active" && status !== "disabled" && status !== "paused"))
    throw requestFailure({ kind: "not-found" });
  return { status, isOperator: row.isOperator };
}
