import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import type { OpenedAccount, Person } from "./person.ts";

type IdentityOfEpoch = Pick<OpenedAccount, "accountId" | "identityId"> & { readonly epoch: number };

/** The MAC that binds the person to their identity in this account. */
export function signIdentity(
  person: Person,
  identityRef: IdentityOfEpoch,
  rowMacs: Pick<RowMacs, "compute">,
): Buffer {
  return rowMacs.compute(identityRow(person, identityRef));
}

/** Whether the MAC of the identity is of this person. */
export function isIdentityOf(
  person: Person,
  identity: IdentityOfEpoch & { readonly mac: Buffer | null },
  rowMacs: Pick<RowMacs, "isGenuine">,
): boolean {
  return rowMacs.isGenuine(identityRow(person, identity), identity.mac);
}

function identityRow(
  { provider, issuer, subject }: Person,
  { accountId, identityId: id, epoch }: IdentityOfEpoch,
) {
  return { identity: { accountId, id, provider, issuer, subject }, epoch };
}
