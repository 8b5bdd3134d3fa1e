import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { closed, id, label, nullable, pageLimit, pathPattern, timestamp } from "./shared-fields.ts";

/** Every scope that a token can have. */
export const scopeNames = [
  "vaults:read",
  "vaults:write",
  "vaults:delete",
  "secrets:list",
  "secrets:read",
  "secrets:write",
  "secrets:delete",
  "secrets:destroy",
  "tokens:read",
  "tokens:write",
  "audit:read",
  "keys:rotate",
  "grants:read",
  "grants:write",
] as const;

const scope = Type.Enum([...scopeNames], { title: "Scope", description: "A permission of a token" });

export const scopes = Type.Array(scope, {
  minItems: 1,
  maxItems: scopeNames.length,
  uniqueItems: true,
  description: "What the token may do",
});

/** Absent or null restrictions allow everything. */
export const vaultIds = described(
  nullable(Type.Array(id, { minItems: 1, maxItems: 100, uniqueItems: true })),
  "Vaults that the token may use; null for all, also later ones",
);

export const paths = described(
  nullable(Type.Array(pathPattern, { minItems: 1, maxItems: 100, uniqueItems: true })),
  "Path patterns that the token may use, e.g. `/prod/**`; null for all",
);

const addresses = described(
  nullable(
    Type.Array(
      Type.String({
        minLength: 2,
        maxLength: 64,
        description: "An IP address, or a range such as 10.0.0.0/8",
      }),
      { minItems: 1, maxItems: 100, uniqueItems: true },
    ),
  ),
  "IP addresses and ranges from which the token may be used; null for all",
);

const tokenName = described(label, "Name of the token");

const newTokenFields = {
  name: tokenName,
  scopes,
  vault_ids: Type.Optional(vaultIds),
  paths: Type.Optional(paths),
  addresses: Type.Optional(addresses),
  expires_at: Type.Optional(
    described(
      nullable(timestamp),
      "When the token expires; null for never. Without it, after the server's default, 90 days unless it is set differently",
    ),
  ),
};

export const newToken = Type.Object(newTokenFields, {
  ...closed,
  title: "NewToken",
  description: "The token to create; one that is created with a token cannot have more access than it",
});

export type NewToken = Static<typeof newToken>;

export const newOrganisationToken = Type.Object(
  {
    ...newTokenFields,
    for: Type.Enum(["me", "organisation"], {
      description:
        "Whose token it is. Yours is limited at each use to what you may do then, and ends when you leave; the organisation's stays, and can have only what you have and may share",
    }),
  },
  { ...closed, title: "NewOrganisationToken", description: "The token to create in an organisation" },
);

export const tokenChange = Type.Object(
  { name: tokenName },
  { ...closed, title: "TokenChange", description: "The token's new name" },
);

export const tokenRotation = Type.Object(
  {
    grace_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 86_400,
        description: "How long the old value stays valid; 0 by default",
      }),
    ),
  },
  { ...closed, title: "TokenRotation", description: "How a token is rotated" },
);

const tokenFields = {
  id: described(id, "Identifies the token"),
  owner_id: Type.Optional(
    described(id, "The member of the organisation to whom it belongs; absent for all other tokens"),
  ),
  name: tokenName,
  fingerprint: Type.String({
    pattern: "^[0-9a-f]{8}$",
    description: "Start of the hash of its value, to tell tokens apart",
  }),
  scopes,
  vault_ids: vaultIds,
  paths,
  addresses,
  expires_at: described(nullable(timestamp), "When it expires; null for never"),
  created_at: described(timestamp, "When it was created"),
  created_by: Type.String({
    maxLength: 64,
    description: "Who created it: `session:`, `person:`, `token:` or `trust-rule:` and an id",
  }),
  rotated_at: described(nullable(timestamp), "When it was last rotated; null for never"),
  last_used_at: described(nullable(timestamp), "When it was last used, within a minute; null for never"),
  last_used_address: described(
    nullable(Type.String({ maxLength: 64 })),
    "Address from which it was last used",
  ),
  revoked_at: described(nullable(timestamp), "When it was revoked; null for an active token"),
  revoke_reason: described(
    nullable(
      Type.Enum([
        "asked",
        "leaked",
        "account-deleted",
        "parent-revoked",
        "member-removed",
        "vault-transferred",
      ]),
    ),
    "Why it was revoked; null for an active token",
  ),
};

/** A token without its value. */
export const apiToken = Type.Object(tokenFields, {
  ...closed,
  title: "Token",
  description: "A token, without its value",
});

export type ApiToken = Static<typeof apiToken>;

/** The only response that contains the token's value. */
export const issuedToken = Type.Object(
  {
    ...tokenFields,
    value: Type.String({
      pattern: "^sk-svc-[0-9A-Za-z]{49}$",
      description: "Sent as `Authorization: Bearer …`; returned only in this response",
    }),
  },
  { ...closed, title: "IssuedToken", description: "A token with its value" },
);

export const tokenPage = Type.Object(
  {
    items: Type.Array(apiToken, { maxItems: 200, description: "The tokens of this page" }),
    next_cursor: Type.Optional(
      described(id, "Send it as `cursor` to get the next page; absent on the last page"),
    ),
  },
  { ...closed, title: "TokenPage", description: "A page of tokens" },
);

export const tokenQuery = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(described(id, "Where the page begins: `next_cursor` of the page before it")),
    state: Type.Optional(Type.Enum(["revoked"], { description: "Lists revoked tokens instead" })),
  },
  closed,
);

export const revocationQuery = Type.Object(
  {
    wait: Type.Optional(
      Type.Enum(["all"], { description: "Responds once no node accepts the token any more" }),
    ),
  },
  closed,
);

/** Suspected tokens; anyone who holds a token may revoke it. */
export const leakedTokens = Type.Object(
  {
    tokens: Type.Array(Type.String({ maxLength: 255 }), {
      minItems: 1,
      maxItems: 100,
      description: "Suspected token values; anything else in the list is ignored",
    }),
  },
  { ...closed, title: "LeakedTokens", description: "Tokens that were found where they should not be" },
);

export const leakedTokensResponse = Type.Object(
  {
    checked: Type.Integer({ minimum: 0, maximum: 100, description: "How many values were checked" }),
    revoked: Type.Integer({ minimum: 0, maximum: 100, description: "How many tokens were revoked" }),
  },
  { ...closed, title: "LeakedTokensReport", description: "What became of the reported tokens" },
);
