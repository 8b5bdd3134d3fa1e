import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { closed, count, id, nullable, timestamp } from "./shared-fields.ts";

export const providerKind = Type.Enum(["code-hosting", "general"], {
  title: "ProviderKind",
  description: "The kind of identity provider",
});
export const displayName = Type.String({ minLength: 1, maxLength: 200 });

const sessionAccount = Type.Object(
  {
    id: described(id, "Identifies the account"),
    display_name: described(displayName, "Name of the person, from the identity provider"),
    is_operator: Type.Optional(
      Type.Boolean({
        description: "True for a person who may manage the accounts of this Keep; absent for others",
      }),
    ),
  },
  { ...closed, title: "SessionAccount", description: "The account of a session" },
);

const provider = Type.Object(
  {
    kind: providerKind,
    name: Type.String({ maxLength: 64, description: "Its name on the sign-in page" }),
    fills_teams: Type.Optional(
      Type.Boolean({ description: "True for a provider whose groups fill teams; absent for others" }),
    ),
  },
  { ...closed, title: "Provider", description: "An identity provider that can be used to sign in" },
);

/** The current session and the configured identity providers. */
export const session = Type.Object(
  {
    id: described(id, "Identifies the session"),
    authenticated_at: described(timestamp, "When the person last signed in"),
    fresh_seconds: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: "Seconds for which the sign-in still counts as fresh; 0 when it does not",
    }),
    account: sessionAccount,
    providers: Type.Array(provider, { maxItems: 2, description: "The configured identity providers" }),
  },
  { ...closed, title: "Session", description: "The session of this browser" },
);

export type Session = Static<typeof session>;

const identity = Type.Object(
  {
    id: described(id, "Identifies the identity"),
    provider: providerKind,
    issuer: Type.String({ maxLength: 512, description: "URL of the identity provider" }),
    login: described(nullable(Type.String({ maxLength: 255 })), "Login name at the provider"),
    email: described(nullable(Type.String({ maxLength: 320 })), "Email address at the provider, if known"),
    created_at: described(timestamp, "When it was linked to the account"),
    last_sign_in_at: described(timestamp, "When it was last used to sign in"),
    is_current: Type.Boolean({ description: "Whether this session was started with it" }),
  },
  { ...closed, title: "Identity", description: "A person's account at an identity provider" },
);

const holdings = Type.Object(
  {
    vaults: described(count, "Number of vaults"),
    secrets: described(count, "Number of secrets"),
    tokens: described(count, "Number of tokens"),
  },
  { ...closed, title: "Holdings", description: "How much the account has, without what was deleted" },
);

export const account = Type.Object(
  {
    id: described(id, "Identifies the account"),
    display_name: described(displayName, "Name of the person, from the identity provider"),
    created_at: described(timestamp, "When the person first signed in"),
    /** Counts of live resources. */
    holds: holdings,
    identities: Type.Array(identity, { maxItems: 100, description: "The identities that can sign in to it" }),
  },
  { ...closed, title: "Account", description: "A person's account" },
);

export type Account = Static<typeof account>;

/** `confirm` must be the account's display name, against accidental deletion. */
export const accountDeletion = Type.Object(
  { confirm: described(displayName, "The account's display name, against accidental deletion") },
  { ...closed, title: "AccountDeletion", description: "Confirms the deletion of the account" },
);

const activeSession = Type.Object(
  {
    id: described(id, "Identifies the session"),
    identity_id: described(id, "The identity that signed in"),
    created_at: described(timestamp, "When it was started"),
    authenticated_at: described(timestamp, "When the person last signed in"),
    last_seen_at: described(timestamp, "When it was last used"),
    idle_until: described(timestamp, "When it expires unless it is used"),
    absolute_until: described(timestamp, "When it expires in any case"),
    address: Type.String({ maxLength: 64, description: "Address of the browser that last used it" }),
    user_agent: described(nullable(Type.String({ maxLength: 512 })), "User-Agent header of that browser"),
    is_current: Type.Boolean({ description: "Whether it is the session of this request" }),
  },
  { ...closed, title: "ActiveSession", description: "A session that has not expired" },
);

export const sessionList = Type.Object(
  { items: Type.Array(activeSession, { maxItems: 200, description: "The account's active sessions" }) },
  { ...closed, title: "SessionList", description: "The active sessions of the account" },
);

export type SessionList = Static<typeof sessionList>;
