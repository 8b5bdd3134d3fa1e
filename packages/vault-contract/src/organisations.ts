import { type Static, Type } from "typebox";
import { displayName } from "./accounts.ts";
import { described } from "./described.ts";
import { closed, id, lineOfText, nextCursor, nullable, pageLimit, timestamp } from "./shared-fields.ts";

const role = Type.Enum(["owner", "member", "auditor"], {
  title: "OrganisationRole",
  description: "Owners manage the organisation, auditors read its audit log; no role reads values",
});

const organisationName = lineOfText(200);

export const organisation = Type.Object(
  {
    id: described(id, "Identifies the organisation"),
    name: described(displayName, "Name of the organisation"),
    role,
    created_at: described(timestamp, "When it was created"),
  },
  { ...closed, title: "Organisation", description: "An organisation and the role that you have in it" },
);

export type Organisation = Static<typeof organisation>;

export const organisationList = Type.Object(
  {
    items: Type.Array(organisation, {
      maxItems: 100,
      description: "The organisations, in order of creation",
    }),
  },
  { ...closed, title: "OrganisationList", description: "The organisations of which you are a member" },
);

export const newOrganisation = Type.Object(
  { name: described(organisationName, "Name of the organisation") },
  { ...closed, title: "NewOrganisation", description: "An organisation to create" },
);

export const organisationChanges = Type.Object(
  { name: described(organisationName, "New name of the organisation") },
  { ...closed, title: "OrganisationChanges", description: "Changes to an organisation" },
);

export const organisationDeletion = Type.Object(
  { confirm: described(displayName, "The organisation's name, against accidental deletion") },
  { ...closed, title: "OrganisationDeletion", description: "Confirms the deletion of an organisation" },
);

export const member = Type.Object(
  {
    person_id: described(id, "Identifies the person: the id of their account"),
    display_name: described(
      nullable(displayName),
      "Name of the person, from the identity provider; null while their account is suspended",
    ),
    role,
    team_ids: Type.Array(id, { maxItems: 100, description: "The teams that the person is in" }),
    group_team_ids: Type.Array(id, {
      maxItems: 100,
      description: "Those of the teams that a group of the general-purpose provider put the person in",
    }),
    joined_at: described(timestamp, "When the person joined"),
  },
  { ...closed, title: "Member", description: "A member of an organisation" },
);

export type Member = Static<typeof member>;

export const memberPage = Type.Object(
  {
    items: Type.Array(member, { maxItems: 200, description: "The members of this page" }),
    next_cursor: nextCursor,
  },
  { ...closed, title: "MemberPage", description: "A page of members" },
);

export const memberQuery = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(described(id, "`next_cursor` of the page before")),
  },
  closed,
);

export const memberChange = Type.Object(
  { role },
  { ...closed, title: "MemberChange", description: "The new role of a member" },
);

const invitedIdentity = Type.String({
  pattern: "^(?:code-hosting|general):.{1,255}$",
  maxLength: 270,
  "x-expected": "a provider and the subject there, such as code-hosting:12345",
});

const invitationFields = {
  id: described(id, "Identifies the invitation"),
  role,
  identity: described(nullable(invitedIdentity), "The only identity that can accept it; null for any"),
  invited_by: described(id, "The account of the person who created it"),
  created_at: described(timestamp, "When it was created"),
  expires_at: described(timestamp, "When it expires"),
};

const invitation = Type.Object(invitationFields, {
  ...closed,
  title: "Invitation",
  description: "An invitation that can still be accepted",
});

export type Invitation = Static<typeof invitation>;

export const issuedInvitation = Type.Object(
  {
    ...invitationFields,
    code: Type.String({ maxLength: 128, description: "Accepts the invitation; returned only once" }),
    link: Type.String({ maxLength: 2048, description: "The page with the code; returned only once" }),
  },
  { ...closed, title: "IssuedInvitation", description: "A new invitation with its link" },
);

export type IssuedInvitation = Static<typeof issuedInvitation>;

export const invitationList = Type.Object(
  { items: Type.Array(invitation, { maxItems: 200, description: "The invitations, in order of creation" }) },
  { ...closed, title: "InvitationList", description: "The invitations that can still be accepted" },
);

export const newInvitation = Type.Object(
  {
    role,
    identity: Type.Optional(
      described(invitedIdentity, "The only identity that can accept it; any if absent"),
    ),
  },
  { ...closed, title: "NewInvitation", description: "An invitation to create" },
);

export const invitationAcceptance = Type.Object(
  { code: Type.String({ minLength: 1, maxLength: 128, description: "The code in the invitation's link" }) },
  { ...closed, title: "InvitationAcceptance", description: "Accepts an invitation" },
);
