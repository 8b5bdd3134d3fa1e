import type { AccountClaims } from "oidc-provider";

export type GeneralAccount = {
  /** The stable id the application knows the person by. */
  readonly subject: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly name?: string;
  /** The organisation whose domain the account belongs to, as Google's `hd` claim. */
  readonly hostedDomain?: string;
};

export type GeneralAccounts = {
  put(account: GeneralAccount): void;
  findBySubject(subject: string): GeneralAccount | undefined;
  /** By what a person types at the sign-in page: the e-mail address or the subject. */
  findByEntry(entry: string): GeneralAccount | undefined;
};

export function keepAccounts(initial: readonly GeneralAccount[]): GeneralAccounts {
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
  };
}
