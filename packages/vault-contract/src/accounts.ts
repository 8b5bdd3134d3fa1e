import { type Static, Type } from "typebox";
import { id, timestamp } from "./shared-fields.ts";

const providerKind = Type.Enum(["code-hosting", "general"]);
const displayName = Type.String({ minLength: 1, maxLength: 200 });
const nullable = <Shape extends Type.TSchema>(shape: Shape) => Type.Union([shape, Type.Null()]);

/** The current session and the configured identity providers. */
export const session = Type.Object(
  {
    id,
    authenticated_at: timestamp,
    /** Seconds for which the sign-in still counts as fresh; 0 when it does not. */
    fresh_seconds: Type.Integer({ minimum: 0, maximum: 86_400 }),
    account: Type.Object({ id, display_name: displayName }, { additionalProperties: false }),
    providers: Type.Array(
      Type.Object(
        { kind: providerKind, name: Type.String({ maxLength: 64 }) },
        { additionalProperties: false },
      ),
      { maxItems: 2 },
    ),
  },
  { additionalProperties: false },
);

export type Session = Static<typeof session>;

const identity = Type.Object(
  {
    id,
    provider: providerKind,
    issuer: Type.String({ maxLength: 512 }),
    login: nullable(Type.String({ maxLength: 255 })),
    email: nullable(Type.String({ maxLength: 320 })),
    created_at: timestamp,
    last_sign_in_at: timestamp,
    is_current: Type.Boolean(),
  },
  { additionalProperties: false },
);

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const account = Type.Object(
  {
    id,
    display_name: displayName,
    created_at: timestamp,
    /** Counts of live resources. */
    holds: Type.Object({ vaults: count, secrets: count, tokens: count }, { additionalProperties: false }),
    identities: Type.Array(identity, { maxItems: 100 }),
  },
  { additionalProperties: false },
);

export type Account = Static<typeof account>;

/** `confirm` must be the account's display name, against accidental deletion. */
export const accountDeletion = Type.Object({ confirm: displayName }, { additionalProperties: false });

export const sessionList = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          id,
          identity_id: id,
          created_at: timestamp,
          authenticated_at: timestamp,
          last_seen_at: timestamp,
          idle_until: timestamp,
          absolute_until: timestamp,
          address: Type.String({ maxLength: 64 }),
          user_agent: nullable(Type.String({ maxLength: 512 })),
          is_current: Type.Boolean(),
        },
        { additionalProperties: false },
      ),
      { maxItems: 200 },
    ),
  },
  { additionalProperties: false },
);

export type SessionList = Static<typeof sessionList>;
