import type { ApiToken } from "@hearth-and-keep/vault-contract";
import type { RadioOption } from "../../design/radio-group.tsx";

/** Whom a token of an organisation is for: the person who creates it, or the organisation itself. */
export type TokenHolder = "me" | "organisation";

export type TokenAction = "rename" | "rotate" | "revoke";

/** The tokens of an account, or those of an organisation. */
export type TokenCollection = {
  readonly apiPath: string;
  /** Where they are listed; with `?new=token`, the form. */
  readonly href: string;
  /** Whom a new token can be for; without a choice if absent. */
  readonly holders?: readonly RadioOption<TokenHolder>[];
  readonly actions: readonly TokenAction[];
  /** Whom a token is for, in lists of several owners. */
  readonly describeOwner?: (token: ApiToken) => string;
};

export const accountTokens: TokenCollection = {
  apiPath: "/api/secrets/tokens",
  href: "/secrets/tokens",
  actions: ["rename", "rotate", "revoke"],
};
