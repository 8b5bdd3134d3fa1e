import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { closed, id, lineOfText, nullable, timestamp } from "./shared-fields.ts";
import { paths as tokenPaths, scopes as tokenScopes } from "./tokens.ts";

/** What a person or team may do in a vault of an organisation. */
const vaultRoleNames = ["reader", "editor", "manager"] as const;

const vaultRole = Type.Enum([...vaultRoleNames], {
  title: "VaultRole",
  description:
    "Readers read values, editors also change and delete secrets, managers also destroy versions, read the audit log, change settings and share the vault",
});

const paths = described(
  tokenPaths,
  "Path patterns to which the grant is limited, e.g. `/prod/**`; null for all",
);

const holder = Type.Object(
  {
    type: Type.Enum(["person", "team"], { description: "Whether a member or a team holds the grant" }),
    id: described(id, "The person's account, or the team"),
  },
  { ...closed, title: "GrantHolder", description: "Who holds a grant" },
);

export const newVaultGrant = Type.Object(
  { holder, role: vaultRole, paths: Type.Optional(paths) },
  {
    ...closed,
    title: "NewVaultGrant",
    description: "A grant to create. Nobody but an owner of the organisation grants more than they have",
  },
);

export const vaultGrant = Type.Object(
  {
    id: described(id, "Identifies the grant"),
    holder,
    holder_name: described(
      nullable(Type.String({ maxLength: 255 })),
      "Name of the member or team; null while the person's account is suspended",
    ),
    role: vaultRole,
    paths,
    created_at: described(timestamp, "When it was created"),
    created_by: Type.String({
      maxLength: 64,
      description: "Who created it: `person:` or `token:` and an id",
    }),
  },
  { ...closed, title: "VaultGrant", description: "What a member or a team may do in a vault" },
);

export type VaultGrant = Static<typeof vaultGrant>;

export const vaultGrantList = Type.Object(
  { items: Type.Array(vaultGrant, { maxItems: 1000, description: "The grants, in order of creation" }) },
  { ...closed, title: "VaultGrantList", description: "Who may do what in a vault" },
);

export const vaultGrantQuery = Type.Object(
  {
    path: Type.Optional(
      Type.String({
        minLength: 2,
        maxLength: 2400,
        description: "Only grants that allow something at this path of a secret",
      }),
    ),
  },
  closed,
);

export const vaultAccess = Type.Object(
  {
    organisation_id: described(
      nullable(id),
      "The organisation to which the vault belongs; null for a vault of your own account",
    ),
    permissions: Type.Array(
      Type.Object(
        { scopes: described(tokenScopes, "What you may do"), paths },
        { ...closed, title: "VaultPermission", description: "What you may do at which paths" },
      ),
      { maxItems: 2000, description: "What you may do; each entry applies on its own" },
    ),
  },
  { ...closed, title: "VaultAccess", description: "What the caller may do in a vault" },
);

export type VaultAccess = Static<typeof vaultAccess>;

const teamName = lineOfText(200);

/** Without a claim that lists groups, a group is stored and fills nothing. */
const whenGroupsAreRead = "only while a provider of `GET /api/session` has `fills_teams`";
const externalGroup = nullable(lineOfText(255));

export const newTeam = Type.Object(
  {
    name: described(teamName, "Name of the team"),
    external_group: Type.Optional(
      described(
        externalGroup,
        `Group of the general-purpose provider whose people sign-ins add to the team, ${whenGroupsAreRead}; null for none`,
      ),
    ),
  },
  { ...closed, title: "NewTeam", description: "A team to create" },
);

export const teamChanges = Type.Object(
  {
    name: Type.Optional(described(teamName, "New name of the team")),
    external_group: Type.Optional(
      described(
        externalGroup,
        `New group of the general-purpose provider that fills the team, ${whenGroupsAreRead}, or null for none; members whom the earlier group put in are removed`,
      ),
    ),
  },
  { ...closed, minProperties: 1, title: "TeamChanges", description: "Changes to a team" },
);

export const team = Type.Object(
  {
    id: described(id, "Identifies the team"),
    name: described(teamName, "Name of the team"),
    members: Type.Integer({ minimum: 0, maximum: 5000, description: "How many members it has" }),
    external_group: described(
      externalGroup,
      `Group of the general-purpose provider whose people sign-ins add to the team, ${whenGroupsAreRead}; null for none`,
    ),
    created_at: described(timestamp, "When it was created"),
  },
  { ...closed, title: "Team", description: "Members of an organisation who get the same grants" },
);

export type Team = Static<typeof team>;

export const teamList = Type.Object(
  { items: Type.Array(team, { maxItems: 500, description: "The teams, in order of creation" }) },
  { ...closed, title: "TeamList", description: "The teams of an organisation" },
);

export const exposure = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          vault_id: described(id, "The vault"),
          vault_name: described(Type.String({ maxLength: 200 }), "Name of the vault"),
          secret_id: described(id, "The secret"),
          path: Type.String({ maxLength: 2400, description: "Where the secret is now" }),
          version: Type.Integer({
            minimum: 1,
            maximum: 2_147_483_647,
            description: "The highest version that the person knows",
          }),
          read_at: described(timestamp, "When the person last read or wrote it"),
          is_current: Type.Boolean({
            description:
              "Whether the person knows the current value, also one that was restored from an older version, so that it must be replaced",
          }),
        },
        { ...closed, title: "ExposedSecret", description: "A secret of which a member knows a value" },
      ),
      { maxItems: 10_000, description: "The secrets, current versions first" },
    ),
    is_complete: Type.Boolean({
      description: "False when a log is too long to be searched whole, or a part of it is archived",
    }),
  },
  { ...closed, title: "Exposure", description: "The secrets whose values a member has read or written" },
);

export type Exposure = Static<typeof exposure>;
