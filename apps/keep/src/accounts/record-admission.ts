import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { inNewEpoch, lockEpochIfActive } from "../keys/row-integrity/account-epoch.ts";
import type { AdmittedBy } from "../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { isIdentityOf, type PersonKey, signIdentity } from "./identity-mac.ts";
import type { OpenedAccount } from "./person.ts";
import { readIdentityState, updateIdentityAdmission } from "./queries.ts";

type RecordedAdmission = Pick<OpenedAccount, "accountId" | "identityId"> & {
  readonly person: PersonKey;
  readonly admittedBy: AdmittedBy;
  /** Does nothing if a sign-in was admitted otherwise in the meantime. */
  readonly isRenewal?: boolean;
};

/**
 * Stores by which rule the identity is admitted, and that a membership is confirmed as of now. Starts a new epoch when the
 * identity loses a right, so that its earlier row cannot be put back. Does nothing to an account that is not active.
 */
export async function recordAdmission(
  transaction: Transaction,
  { accountId, identityId, person, admittedBy, isRenewal = false }: RecordedAdmission,
  { serverKeys: { rowMacs } }: { readonly serverKeys: Pick<ServerKeys, "rowMacs"> },
): Promise<void> {
  const epoch = await lockEpochIfActive(transaction, accountId, rowMacs);
  if (epoch === undefined) return;
  const stored = await readIdentityState(transaction, { accountId, identityId });
  if (stored === undefined || !isIdentityOf(person, { accountId, identityId, epoch, ...stored }, rowMacs))
    throw requestFailure({ kind: "integrity-broken" });
  if (isRenewal && stored.admission.admittedBy !== admittedBy) return;
  const admission = { admittedBy, confirmedAt: admittedBy === "organization" ? stored.now : null };
  const update = (newEpoch: number) => {
    const mac = signIdentity(person, { accountId, identityId, epoch: newEpoch, admission }, rowMacs);
    return updateIdentityAdmission(transaction, { accountId, identityId, admission, mac });
  };
  if (admittedBy === "other-rule" || stored.admission.admittedBy === admittedBy) return update(epoch);
  await inNewEpoch(transaction, { accountId, rowMacs }, async ({ next }) => ({
    result: await update(next),
    isRevoked: (row) => "identity" in row && row.identity.id === identityId,
  }));
}
