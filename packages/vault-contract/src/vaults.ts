import { type Static, Type } from "typebox";
import { cursor, id, label, pageLimit, revision, timestamp } from "./shared-fields.ts";

const vaultFields = { id, name: label, is_encrypted: Type.Boolean(), created_at: timestamp };

/** A vault in lists. */
export const vault = Type.Object(vaultFields, { additionalProperties: false });

export type Vault = Static<typeof vault>;

export const vaultList = Type.Array(vault, { maxItems: 200 });

export const vaultListQuery = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(cursor),
    state: Type.Optional(Type.Enum(["deleted"])),
  },
  { additionalProperties: false },
);

const maxVersions = Type.Integer({ minimum: 1, maximum: 10_000 });

/** A vault with its settings. */
export const vaultDetail = Type.Object(
  {
    ...vaultFields,
    kind: Type.Enum(["personal", "project"]),
    revision,
    demands_preconditions: Type.Boolean(),
    most_versions: maxVersions,
    updated_at: timestamp,
  },
  { additionalProperties: false },
);

export type VaultDetail = Static<typeof vaultDetail>;

export const newVault = Type.Object({ name: label }, { additionalProperties: false });

export const vaultChanges = Type.Object(
  {
    name: Type.Optional(label),
    demands_preconditions: Type.Optional(Type.Boolean()),
    most_versions: Type.Optional(maxVersions),
  },
  { additionalProperties: false, minProperties: 1 },
);

export const deletionQuery = Type.Object(
  { purge: Type.Optional(Type.Enum(["true", "false"])) },
  { additionalProperties: false },
);
