/** Somebody as their provider knows them. Who they are is the issuer and the subject; the rest is for showing. */
export type Person = {
  readonly provider: "code-hosting" | "general";
  readonly issuer: string;
  readonly subject: string;
  readonly displayName: string;
  readonly login?: string;
  readonly email?: string;
};

export type AccountEntry = {
  readonly accountId: string;
  readonly identityId: string;
  readonly isNew: boolean;
};
