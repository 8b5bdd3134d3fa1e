import type { Person } from "../accounts/person.ts";
import { findIdentity } from "../accounts/queries.ts";
import {
  type AdmissionRefusal,
  decideAdmission,
  findAdmittingRule,
  formatIdentity,
} from "../admission/decide-admission.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { lockAccountRow } from "../keys/row-integrity/queries.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import {
  type AcceptDependencies,
  type Reservation,
  reserveMembership,
} from "../organisations/accept-invitation.ts";
import { asRequestFailure } from "../problems.ts";
import type { Authentication, IdentityProvider } from "./identity-provider.ts";
import type { SignIn } from "./prepare-sign-in.ts";
import { revokeSessions } from "./revoke-sessions.ts";

export type AdmissionDependencies = Pick<SignIn, "admission"> & {
  readonly database: AcceptDependencies["database"];
  readonly audit: AuditLog;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
  /** The code that the person came with. */
  readonly invitation: string | undefined;
};

/** Whether the person may get an account, or only sign in to one that exists. */
export type Admitted = {
  readonly mayCreateAccount: boolean;
  /** Absent unless a rule admits the person. */
  readonly admittedBy?: "organization" | "other-rule" | undefined;
  /** The invitation that admitted the person, used up. */
  readonly reservation?: Reservation;
};

/**
 * Throws unless the person may sign in. A refusal ends the sessions of the identity, because it is the first that Keep learns
 * of a membership that ended. `startSession` verifies that the account is the person's.
 */
export async function assertAdmitted(
  { person, evidence }: Authentication,
  provider: Pick<IdentityProvider, "name">,
  dependencies: AdmissionDependencies,
): Promise<Admitted> {
  const decision = decideAdmission(person, evidence, dependencies.admission);
  if (decision === "admitted") {
    const admittedBy = findAdmittingRule(person, evidence, dependencies.admission);
    return { mayCreateAccount: true, admittedBy };
  }
  const existing = await findIdentity(dependencies.database, person);
  if (existing !== undefined) {
    const { accountId, identityId } = existing;
    const isAdmitted = await dependencies.database.inAccount(accountId, async (transaction) => {
      const { isExempt, isPaused } = await readExemption(transaction, accountId, {
        ...dependencies,
        decision,
      });
      if (isExempt || decision === "organizations-unavailable") return isExempt;
      const revocation = { accountId, by: "server", selector: { ofIdentity: identityId } } as const;
      const event = { type: "sign-in-refused", identity: identityId, reason: decision } as const;
      dependencies.audit.record(transaction, { accountId, by: "server", event });
      // A paused account has no sessions, and is changed by its next admitted sign-in only.
      if (!isPaused) await revokeSessions(transaction, revocation, dependencies);
      return false;
    });
    if (isAdmitted) return { mayCreateAccount: false };
  } else if (decision === "invitation-required" && dependencies.invitation !== undefined) {
    const reservation = await reserveInvited(person, dependencies.invitation, dependencies);
    return { mayCreateAccount: true, reservation };
  }
  throw decision === "organizations-unavailable"
    ? requestFailure({ kind: "provider-unavailable", provider: provider.name })
    : notAdmitted(person, decision);
}

async function reserveInvited(
  person: Person,
  invitation: string,
  dependencies: AdmissionDependencies,
): Promise<Reservation> {
  try {
    return await reserveMembership(person, invitation, dependencies);
  } catch (error) {
    if (asRequestFailure(error).kind !== "not-found") throw error;
    const reason =
      "This invitation is not valid. It may have been accepted or revoked, have expired, or be for another person. Ask for a new one";
    throw requestFailure({ kind: "sign-in-refused", reason });
  }
}

export function notAdmitted(person: Authentication["person"], reason: AdmissionRefusal): Error {
  return requestFailure({ kind: "not-admitted", reason, identity: formatIdentity(person) });
}

type Exemption = Pick<AdmissionDependencies, "serverKeys"> & { readonly decision: string };

/**
 * Operators are never locked out, and without invitations every account that exists may be signed in to. A suspended one too
 * as far as admission goes: `startSession` refuses it with its own message.
 */
async function readExemption(
  transaction: Transaction,
  accountId: string,
  { decision, serverKeys: { rowMacs } }: Exemption,
): Promise<{ readonly isExempt: boolean; readonly isPaused: boolean }> {
  const row = await lockAccountRow(transaction, accountId);
  if (row === undefined || row.status === "deleted") return { isExempt: false, isPaused: false };
  const { mac, ...account } = row;
  if (!rowMacs.isGenuine({ account }, mac)) throw requestFailure({ kind: "integrity-broken" });
  const isExempt = account.isOperator || account.status === "disabled" || decision === "invitation-required";
  return { isExempt, isPaused: account.status === "paused" };
}
