import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import {
  closed,
  cursor,
  flag,
  id,
  label,
  nullable,
  pageLimit,
  revision,
  timestamp,
} from "./shared-fields.ts";

const vaultFields = {
  id: described(id, "Identifies the vault"),
  name: described(label, "Name of the vault; several vaults may have the same one"),
  is_encrypted: Type.Boolean({ description: "Always true: values are encrypted with the vault's own key" }),
  created_at: described(timestamp, "When it was created"),
};

/** A vault in lists. */
export const vault = Type.Object(vaultFields, {
  ...closed,
  title: "Vault",
  description: "A vault, without its settings",
});

export type Vault = Static<typeof vault>;

export const vaultList = Type.Array(vault, { maxItems: 200 });

export const vaultListQuery = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(
      described(cursor, "Where the page begins, from the `Link` header of the page before it"),
    ),
    state: Type.Optional(Type.Enum(["deleted"], { description: "Lists deleted vaults instead" })),
  },
  closed,
);

const settings = {
  demands_preconditions: Type.Boolean({
    description: "Whether writes without If-Match or If-None-Match are rejected",
  }),
  most_versions: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    description: "How many versions of a secret are kept, without destroyed ones",
  }),
  when_versions_full: Type.Enum(["destroy-oldest", "refuse"], {
    title: "VersionsPolicy",
    description:
      "What a write does to a secret that has `most_versions` versions: it destroys the values of the oldest ones, or is refused with `versions_full`. Destroying more than before needs `secrets:destroy`",
  }),
};

const environments = Type.Array(
  Type.String({ minLength: 1, maxLength: 255, description: "Name of a folder at the top of the vault" }),
  {
    maxItems: 32,
    uniqueItems: true,
    description: "The folders at the top of the vault that are environments, e.g. `dev` and `prod`",
  },
);
const base = described(
  nullable(Type.String({ minLength: 1, maxLength: 256 })),
  "The folder at the top of the vault from which the environments inherit, e.g. `/base`; null if there is none",
);

const protectedPaths = Type.Array(
  Type.String({
    minLength: 2,
    maxLength: 1024,
    description:
      "A path pattern such as `/prod/**`, in which `*` is one segment and a final `**` one or more",
  }),
  {
    maxItems: 32,
    uniqueItems: true,
    description:
      "Secrets whose changes take effect only after a second person has approved them; only in vaults of an organisation",
  },
);

/** A vault with its settings. */
export const vaultDetail = Type.Object(
  {
    ...vaultFields,
    kind: Type.Enum(["personal", "project"], {
      title: "VaultKind",
      description: "`personal` is the one that each account starts with",
    }),
    revision,
    ...settings,
    environments,
    base,
    protected_paths: protectedPaths,
    updated_at: described(timestamp, "When the vault or its contents last changed"),
  },
  { ...closed, title: "VaultDetail", description: "A vault with its settings" },
);

export type VaultDetail = Static<typeof vaultDetail>;

export const newVault = Type.Object(
  { name: vaultFields.name },
  { ...closed, title: "NewVault", description: "The vault to create" },
);

/** Settings that decide what happens to protected secrets, and can be part of a proposed change. */
export const reviewedSettings = {
  most_versions: Type.Optional(settings.most_versions),
  when_versions_full: Type.Optional(settings.when_versions_full),
  environments: Type.Optional(environments),
  base: Type.Optional(base),
  protected_paths: Type.Optional(protectedPaths),
};

export const vaultChanges = Type.Object(
  {
    name: Type.Optional(vaultFields.name),
    demands_preconditions: Type.Optional(settings.demands_preconditions),
    ...reviewedSettings,
  },
  {
    ...closed,
    minProperties: 1,
    title: "VaultChanges",
    description: "At least one setting; the others keep their values",
  },
);

export type VaultChangesBody = Static<typeof vaultChanges>;

export const vaultTransfer = Type.Object(
  {
    to: described(
      id,
      "The account that gets the vault: an organisation of which you are an owner, or your own account",
    ),
  },
  { ...closed, title: "VaultTransfer", description: "The account to which a vault is transferred" },
);

export const deletionQuery = Type.Object(
  {
    purge: Type.Optional(
      described(flag, "`true` deletes permanently, also what was already deleted; needs `secrets:destroy`"),
    ),
  },
  closed,
);
