import type { IdentityRow, RowMacs } from "../keys/row-integrity/row-macs.ts";
import type { OpenedAccount } from "./person.ts";

type IdentityOfEpoch = Pick<OpenedAccount, "accountId" | "identityId"> & {
  readonly epoch: number;
  /** Absent for a new identity. */
  readonly admission?: StoredAdmission;
};

export type StoredAdmission = Pick<IdentityRow, "admittedBy" | "confirmedAt">;

/** What the MAC covers of a person. */
export type PersonKey = Pick<IdentityRow, "provider" | "issuer" | "subject">;

/** The MAC that binds the person to their identity in this account. */
export function signIdentity(
  person: PersonKey,
  identityRef: IdentityOfEpoch,
  rowMacs: Pick<RowMacs, "compute">,
): Buffer {
  return rowMacs.compute(identityRow(person, identityRef));
}

/** Whether the MAC of the identity is of this person. */
export function isIdentityOf(
  person: PersonKey,
  identity: IdentityOfEpoch & { readonly mac: Buffer | null },
  rowMacs: Pick<RowMacs, "isGenuine">,
): boolean {
  return rowMacs.isGenuine(identityRow(person, identity), identity.mac);
}

const notDecided: StoredAdmission = { admittedBy: null, confirmedAt: null };

function identityRow(
  { provider, issuer, subject }: PersonKey,
  { accountId, identityId: id, epoch, admission = notDecided }: IdentityOfEpoch,
) {
  return { identity: { accountId, id, provider, issuer, subject, ...admission }, epoch };
}
