/** A person's identity at their provider. Issuer and subject identify the person; the other fields are for display. */
export type Person = {
  readonly provider: "code-hosting" | "general";
  readonly issuer: string;
  readonly subject: string;
  readonly displayName: string;
  readonly login?: string;
  readonly email?: string;
};

export type OpenedAccount = {
  readonly accountId: string;
  readonly identityId: string;
  readonly isNew: boolean;
};
