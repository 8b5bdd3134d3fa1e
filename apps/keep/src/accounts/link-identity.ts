import type { Actor } from "../authorization/actor.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { lockEpoch } from "../keys/row-integrity/account-epoch.ts";
import type { AdmittedBy } from "../keys/row-integrity/row-macs.ts";
import type { AccountDependencies } from "./find-or-create-account.ts";
import { signIdentity } from "./identity-mac.ts";
import type { Person } from "./person.ts";
import { claimIdentity, findIdentity, insertIdentity, refreshIdentity } from "./queries.ts";
import { recordAdmission } from "./record-admission.ts";

type LinkedPerson = {
  readonly person: Person;
  /** Absent unless rules decide who may sign in. */
  readonly admittedBy: AdmittedBy | undefined;
};

/** Adds an identity to the account. An identity that already has its own account is rejected; accounts never merge. */
export async function linkIdentity(
  actor: Actor,
  { person, admittedBy }: LinkedPerson,
  dependencies: AccountDependencies,
): Promise<void> {
  const { accountId } = actor;
  const { rowMacs } = dependencies.serverKeys;
  const identityRef = { accountId, identityId: generateId() };
  const isNew = await dependencies.database.inAccount(accountId, async (transaction) => {
    const epoch = await lockEpoch(transaction, accountId, rowMacs);
    if (!(await claimIdentity(transaction, person, identityRef))) return false;
    const mac = signIdentity(person, { ...identityRef, epoch }, rowMacs);
    await insertIdentity(transaction, person, { ...identityRef, mac });
    if (admittedBy !== undefined)
      await recordAdmission(transaction, { ...identityRef, person, admittedBy }, dependencies);
    dependencies.audit.record(transaction, {
      accountId,
      by: actor,
      event: { type: "identity-linked", identity: identityRef.identityId, provider: person.provider },
    });
    return true;
  });
  if (isNew) return;
  const existing = await findIdentity(dependencies.database, person);
  if (existing?.accountId !== accountId) {
    const reason =
      "This identity already has its own account; to link it here, sign in with it and delete that account first";
    throw requestFailure({ kind: "sign-in-refused", reason });
  }
  await dependencies.database.inAccount(accountId, (transaction) =>
    refreshIdentity(transaction, person, existing),
  );
}
