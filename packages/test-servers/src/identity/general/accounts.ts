import type { AccountClaims } from "oidc-provider";

export type GeneralAccount = {
  /** The stable id that identifies the user to the application. */
  readonly subject: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly name?: string;
  /** The domain of the account's organisation, as in Google's `hd` claim. */
  readonly hostedDomain?: string;
  /** In the claim `groups`. Above 200 the claim is left out and referred to, as Entra does. */
  readonly groups?: readonly string[];
  /** Sent in place of those above: `name`, `hd`, `groups` and `_claim_names`, of any type. */
  readonly claims?: Readonly<Record<string, unknown>>;
};

/** As many as Entra puts into a token. */
const maxGroups = 200;

export type GeneralAccounts = {
  put(account: GeneralAccount): void;
  findBySubject(subject: string): GeneralAccount | undefined;
  /** By the text typed on the sign-in page: the e-mail address or the subject. */
  findByEntry(entry: string): GeneralAccount | undefined;
};

export function createAccounts(initial: readonly GeneralAccount[]): GeneralAccounts {
  const accounts = new Map(initial.map((account) => [account.subject, account]));
  return {
    put: (account) => void accounts.set(account.subject, account),
    findBySubject: (subject) => accounts.get(subject),
    findByEntry: (entry) =>
      accounts.get(entry) ?? [...accounts.values()].find((account) => account.email === entry),
  };
}

export function claimsOf(account: GeneralAccount): AccountClaims {
  return {
    sub: account.subject,
    email: account.email,
    email_verified: account.isEmailVerified,
    name: account.name ?? account.email,
    ...(account.hostedDomain === undefined ? {} : { hd: account.hostedDomain }),
    ...groupClaims(account.groups),
    ...account.claims,
  };
}

function groupClaims(groups: readonly string[] | undefined): Partial<AccountClaims> {
  if (groups === undefined) return {};
  return groups.length > maxGroups ? { _claim_names: { groups: "src1" } } : { groups: [...groups] };
}
