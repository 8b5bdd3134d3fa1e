import { notifyNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { inNewEpoch } from "../keys/row-integrity/account-epoch.ts";
import { listIdentityRows, lockAccountRow } from "../keys/row-integrity/queries.ts";
import { revokeSessionRows } from "../sign-in/queries.ts";
import { isSelectedSession } from "../sign-in/revoke-sessions.ts";
import { isIdentityOf } from "./identity-mac.ts";
import type { OpenedAccount, Person } from "./person.ts";
import { readIdentityState } from "./queries.ts";
import type { OperatorDependencies } from "./suspend-account.ts";

/** "membership-unconfirmed": the provider could not be asked for too long. */
export type PauseReason = "membership-ended" | "membership-unconfirmed";

type PausedAccount = {
  readonly accountId: string;
  readonly reason: PauseReason;
  /** MACs of the identities by which the pause was decided. */
  readonly identityMacs: readonly (Buffer | null)[];
};

/**
 * Ends all sessions and pauses the tokens, on every node when the transaction commits, until the next admitted sign-in. False
 * for an operator, for an account that is not active, and when somebody signed in or linked an identity in the meantime.
 */
export async function pauseAccount(
  transaction: Transaction,
  { accountId, reason, identityMacs }: PausedAccount,
  { audit, serverKeys: { rowMacs } }: OperatorDependencies,
): Promise<boolean> {
  const account = await lockAccountRow(transaction, accountId);
  if (account === undefined || account.status !== "active" || account.isOperator) return false;
  const identities = await listIdentityRows(transaction, accountId);
  if (!haveSameMacs(identities, identityMacs)) return false;
  await inNewEpoch(transaction, { accountId, rowMacs }, async () => ({
    result: await revokeSessionRows(transaction, accountId, "all"),
    isRevoked: (row) => isSelectedSession(row, "all"),
    account: { status: "paused" },
  }));
  audit.record(transaction, { accountId, by: "server", event: { type: "account-paused", reason } });
  await notifyNodes(transaction, accountId, [{ kind: "account", subjectId: accountId }]);
  return true;
}

function haveSameMacs(
  identities: readonly { readonly mac: Buffer | null }[],
  expected: readonly (Buffer | null)[],
): boolean {
  const wanted = new Set(expected.map(formatMac));
  return identities.length === expected.length && identities.every(({ mac }) => wanted.has(formatMac(mac)));
}

function formatMac(mac: Buffer | null): string {
  return mac?.toString("hex") ?? "";
}

type SigningIn = Pick<OpenedAccount, "accountId" | "identityId"> & { readonly person: Person };

/**
 * Resumes a paused account for a person who was admitted; does nothing to others, not even to suspended ones. The route that
 * led to the account could have been changed in the database, so the identity is verified first.
 */
export async function resumePausedAccount(
  transaction: Transaction,
  { accountId, identityId, person }: SigningIn,
  { audit, serverKeys: { rowMacs } }: OperatorDependencies,
): Promise<void> {
  if ((await lockAccountRow(transaction, accountId))?.status !== "paused") return;
  await inNewEpoch(transaction, { accountId, rowMacs, status: "paused" }, async ({ previous }) => {
    const identity = await readIdentityState(transaction, { accountId, identityId });
    if (
      identity === undefined ||
      !isIdentityOf(person, { accountId, identityId, epoch: previous, ...identity }, rowMacs)
    )
      throw requestFailure({ kind: "integrity-broken" });
    return {
      result: undefined,
      isRevoked: (row) => isSelectedSession(row, "all"),
      account: { status: "active" },
    };
  });
  const event = { type: "account-unpaused", identity: identityId } as const;
  audit.record(transaction, { accountId, by: "server", event });
  await notifyNodes(transaction, accountId, [{ kind: "account", subjectId: accountId }]);
}
