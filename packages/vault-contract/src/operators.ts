import { type Static, Type } from "typebox";
import { displayName, providerKind } from "./accounts.ts";
import { described } from "./described.ts";
import { closed, id, nextCursor, nullable, pageLimit, timestamp } from "./shared-fields.ts";

const accountStatus = Type.Enum(["active", "suspended", "paused"], {
  title: "AccountStatus",
  description:
    "A suspended account has no sessions, and its tokens are refused. So it is with a paused one, whose membership in the organizations that admit its people ended or could not be confirmed for a day; the next admitted sign-in resumes it",
});

const accountIdentity = Type.Object(
  {
    provider: providerKind,
    issuer: Type.String({ maxLength: 512, description: "URL of the identity provider" }),
    subject: Type.String({ maxLength: 255, description: "Identifies the person at the provider" }),
    login: described(nullable(Type.String({ maxLength: 255 })), "Login name at the provider"),
    email: described(nullable(Type.String({ maxLength: 320 })), "Email address at the provider, if known"),
    last_sign_in_at: described(timestamp, "When it was last used to sign in"),
  },
  {
    ...closed,
    title: "AccountIdentity",
    description: "An identity as settings name it: the provider, and the subject there",
  },
);

export const operatorAccount = Type.Object(
  {
    id: described(id, "Identifies the account"),
    display_name: described(
      displayName,
      "Name of the organisation, or of the person, from the identity provider",
    ),
    kind: Type.Enum(["person", "organisation"], {
      title: "AccountKind",
      description: "Whether the account is a person's or an organisation's, which nobody signs in to",
    }),
    status: accountStatus,
    is_operator: Type.Boolean({ description: "Whether the account may manage other accounts" }),
    created_at: described(timestamp, "When it was created; a person's, by the first sign-in"),
    identities: Type.Array(accountIdentity, {
      maxItems: 100,
      description: "The identities that sign in to it",
    }),
  },
  {
    ...closed,
    title: "OperatorAccount",
    description: "An account as operators see it, without anything that is in it",
  },
);

export type OperatorAccount = Static<typeof operatorAccount>;

export const operatorAccountPage = Type.Object(
  {
    items: Type.Array(operatorAccount, { maxItems: 200, description: "The accounts of this page" }),
    next_cursor: nextCursor,
  },
  { ...closed, title: "OperatorAccountPage", description: "A page of accounts" },
);

export const operatorAccountQuery = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(described(id, "`next_cursor` of the page before")),
    status: Type.Optional(accountStatus),
  },
  closed,
);
