/** The trust rules of an account, or those of an organisation. */
export type RuleCollection = {
  readonly apiPath: string;
  /** Where they are listed; with `?new=rule` or `?edit=` and an id, the form. */
  readonly href: string;
  /** Whether a new rule can be for all vaults. */
  readonly allowsAllVaults: boolean;
  /** What a rule can grant, where that is limited. */
  readonly limits?: string;
};

export const accountRules: RuleCollection = {
  apiPath: "/api/secrets/trust-rules",
  href: "/secrets/trust-rules",
  allowsAllVaults: true,
};
