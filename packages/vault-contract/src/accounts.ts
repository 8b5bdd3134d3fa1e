import { type Static, Type } from "typebox";
import { id, moment } from "./shared-fields.ts";

const providerKind = Type.Enum(["code-hosting", "general"]);
const displayName = Type.String({ minLength: 1, maxLength: 200 });
const orNothing = <Shape extends Type.TSchema>(shape: Shape) => Type.Union([shape, Type.Null()]);

/** Who is signed in, and which providers there are. */
export const session = Type.Object(
  {
    id,
    authenticated_at: moment,
    /** How long the sign-in is still new enough for what needs a fresh one; 0 when it is not. */
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
    login: orNothing(Type.String({ maxLength: 255 })),
    email: orNothing(Type.String({ maxLength: 320 })),
    created_at: moment,
    last_sign_in_at: moment,
    is_current: Type.Boolean(),
  },
  { additionalProperties: false },
);

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const account = Type.Object(
  {
    id,
    display_name: displayName,
    created_at: moment,
    /** What is alive in it. */
    holds: Type.Object({ vaults: count, secrets: count, tokens: count }, { additionalProperties: false }),
    identities: Type.Array(identity, { maxItems: 100 }),
  },
  { additionalProperties: false },
);

export type Account = Static<typeof account>;

/** The display name, so that nobody deletes an account by accident. */
export const accountDeletion = Type.Object({ confirm: displayName }, { additionalProperties: false });

export const sessionList = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          id,
          identity_id: id,
          created_at: moment,
          authenticated_at: moment,
          last_seen_at: moment,
          idle_until: moment,
          absolute_until: moment,
          address: Type.String({ maxLength: 64 }),
          user_agent: orNothing(Type.String({ maxLength: 512 })),
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
