import { type Static, Type } from "typebox";
import { id, label, timestamp } from "./shared-fields.ts";

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
] as const;

const scopeList = Type.Array(Type.Enum([...scopeNames]), {
  minItems: 1,
  maxItems: scopeNames.length,
  uniqueItems: true,
});

/** Absent or null restrictions allow everything. */
const vaultIds = Type.Array(id, { minItems: 1, maxItems: 100, uniqueItems: true });

/** A path in which `*` matches one segment and a final `**` matches one or more. */
const pathPattern = Type.String({
  minLength: 2,
  maxLength: 1024,
  pattern: "^(?:/(?:\\*|[^/*\\p{Cc}\\p{Cs}]+))*(?:/\\*\\*)?$",
});
const paths = Type.Array(pathPattern, { minItems: 1, maxItems: 100, uniqueItems: true });

const addresses = Type.Array(
  Type.String({ minLength: 2, maxLength: 64, description: "An IP address, or a range such as 10.0.0.0/8" }),
  { minItems: 1, maxItems: 100, uniqueItems: true },
);

const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

export const newToken = Type.Object(
  {
    name: label,
    scopes: scopeList,
    vault_ids: Type.Optional(nullable(vaultIds)),
    paths: Type.Optional(nullable(paths)),
    addresses: Type.Optional(nullable(addresses)),
    expires_at: Type.Optional(nullable(timestamp)),
  },
  { additionalProperties: false },
);

export type NewToken = Static<typeof newToken>;

export const tokenChange = Type.Object({ name: label }, { additionalProperties: false });

export const tokenRotation = Type.Object(
  { grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400 })) },
  { additionalProperties: false },
);

const tokenFields = {
  id,
  name: label,
  fingerprint: Type.String({ pattern: "^[0-9a-f]{8}$" }),
  scopes: scopeList,
  vault_ids: nullable(vaultIds),
  paths: nullable(paths),
  addresses: nullable(addresses),
  expires_at: nullable(timestamp),
  created_at: timestamp,
  created_by: Type.String({ maxLength: 64 }),
  rotated_at: nullable(timestamp),
  last_used_at: nullable(timestamp),
  last_used_address: nullable(Type.String({ maxLength: 64 })),
  revoked_at: nullable(timestamp),
  revoke_reason: nullable(Type.Enum(["asked", "leaked", "account-deleted", "parent-revoked"])),
};

/** A token without its value. */
export const apiToken = Type.Object(tokenFields, { additionalProperties: false });

export type ApiToken = Static<typeof apiToken>;

/** The only response that contains the token's value. */
export const issuedToken = Type.Object(
  { ...tokenFields, value: Type.String({ pattern: "^sk-svc-[0-9A-Za-z]{49}$" }) },
  { additionalProperties: false },
);

export const tokenPage = Type.Object(
  { items: Type.Array(apiToken, { maxItems: 200 }), next_cursor: Type.Optional(id) },
  { additionalProperties: false },
);

export const tokenQuery = Type.Object(
  {
    limit: Type.Optional(Type.String({ pattern: "^(?:[1-9][0-9]?|1[0-9]{2}|200)$" })),
    cursor: Type.Optional(id),
    state: Type.Optional(Type.Enum(["revoked"])),
  },
  { additionalProperties: false },
);

export const revocationQuery = Type.Object(
  { wait: Type.Optional(Type.Enum(["all"])) },
  { additionalProperties: false },
);

/** Suspected tokens; anyone who holds a token may revoke it. */
export const leakedTokens = Type.Object(
  { tokens: Type.Array(Type.String({ maxLength: 255 }), { minItems: 1, maxItems: 100 }) },
  { additionalProperties: false },
);

export const leakedTokensResponse = Type.Object(
  {
    checked: Type.Integer({ minimum: 0, maximum: 100 }),
    revoked: Type.Integer({ minimum: 0, maximum: 100 }),
  },
  { additionalProperties: false },
);
