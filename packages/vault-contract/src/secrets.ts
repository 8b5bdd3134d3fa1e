import { type Static, Type } from "typebox";
import { cursor, flag, id, label, pageLimit, revision, timestamp } from "./shared-fields.ts";

/** The path of a secret (folder and name joined) or of a folder. The server validates its segments. */
export const secretPath = Type.String({ minLength: 1, maxLength: 2400 });

const closed = { additionalProperties: false } as const;
const segment = Type.String({ minLength: 1, maxLength: 255 });
const secretType = Type.Enum(["text", "json", "binary", "file"]);
const encoding = Type.Enum(["utf8", "base64"]);
const version = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const tag = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: "^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$",
});
const tags = Type.Array(tag, { maxItems: 32, uniqueItems: true });
const note = Type.String({ maxLength: 4096 });
/** 1 MiB, encoded as base64. */
const value = Type.String({ maxLength: 1_398_104 });
const actorName = Type.String({ maxLength: 64 });

/** Metadata of a secret, without its value and note. */
export const secret = Type.Object(
  {
    id,
    folder: secretPath,
    name: segment,
    path: secretPath,
    type: secretType,
    version,
    revision,
    tags,
    has_note: Type.Boolean(),
    size: Type.Integer({ minimum: 0, maximum: 1_048_576 }),
    created_at: timestamp,
    updated_at: timestamp,
    updated_by: actorName,
    deleted_at: Type.Optional(timestamp),
  },
  closed,
);

export type SecretMetadata = Static<typeof secret>;

const nextCursor = Type.Optional(cursor);

export const secretPage = Type.Object(
  { items: Type.Array(secret, { maxItems: 200 }), next_cursor: nextCursor },
  closed,
);

export type SecretPage = Static<typeof secretPage>;

export const secretListQuery = Type.Object(
  {
    path: Type.Optional(secretPath),
    recursive: Type.Optional(flag),
    q: Type.Optional(label),
    tag: Type.Optional(tag),
    state: Type.Optional(Type.Enum(["deleted"])),
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(cursor),
  },
  closed,
);

const content = {
  value,
  encoding: Type.Optional(encoding),
  type: Type.Optional(secretType),
  tags: Type.Optional(tags),
  note: Type.Optional(Type.Union([note, Type.Null()])),
};

/** Omitted fields keep their current value. */
export const newSecret = Type.Object(content, closed);

export type NewSecretBody = Static<typeof newSecret>;

export const secretChanges = Type.Object(
  {
    name: Type.Optional(segment),
    folder: Type.Optional(secretPath),
    tags: content.tags,
    note: content.note,
  },
  { ...closed, minProperties: 1 },
);

export type SecretChangesBody = Static<typeof secretChanges>;

export const secretValue = Type.Object(
  { id, path: secretPath, version, type: secretType, value, encoding, note: Type.Optional(note) },
  closed,
);

export type SecretValue = Static<typeof secretValue>;

export const valueQuery = Type.Object(
  {
    version: Type.Optional(Type.String({ pattern: "^[1-9][0-9]{0,8}$", maxLength: 9 })),
    expand: Type.Optional(Type.Enum(["references"])),
  },
  closed,
);

export const valueByPathQuery = Type.Object({ expand: valueQuery.properties.expand }, closed);

export const secretVersion = Type.Object(
  {
    version,
    type: secretType,
    size: Type.Integer({ minimum: 0, maximum: 1_048_576 }),
    created_at: timestamp,
    created_by: actorName,
    destroyed_at: Type.Optional(timestamp),
  },
  closed,
);

export type SecretVersion = Static<typeof secretVersion>;

export const versionPage = Type.Object(
  { items: Type.Array(secretVersion, { maxItems: 200 }), next_cursor: nextCursor },
  closed,
);

export type VersionPage = Static<typeof versionPage>;

export const pageQuery = Type.Object(
  { limit: Type.Optional(pageLimit), cursor: Type.Optional(cursor) },
  closed,
);

export const folder = Type.Object({ path: secretPath, created_at: timestamp }, closed);

export const folderPage = Type.Object(
  { items: Type.Array(folder, { maxItems: 200 }), next_cursor: nextCursor },
  closed,
);

export type FolderPage = Static<typeof folderPage>;

export const folderListQuery = Type.Object(
  {
    path: Type.Optional(secretPath),
    recursive: Type.Optional(flag),
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(cursor),
  },
  closed,
);

export const newFolder = Type.Object({ path: secretPath }, closed);

export const folderDeletionQuery = Type.Object({ path: secretPath, recursive: Type.Optional(flag) }, closed);

export const folderMove = Type.Object({ from: secretPath, to: secretPath }, closed);

/** `secrets` is the number of moved or deleted secrets. */
export const folderOutcome = Type.Object(
  { secrets: Type.Integer({ minimum: 0, maximum: 10_000 }), revision },
  closed,
);

/** The required revision of the secret; 0 requires that it does not exist, `*` that it exists. */
const ifRevision = Type.Optional(Type.Union([revision, Type.Literal("*")]));

const operation = Type.Union([
  Type.Object({ op: Type.Literal("put"), path: secretPath, ...content, if_revision: ifRevision }, closed),
  Type.Object(
    { op: Type.Literal("move"), path: secretPath, to: secretPath, if_revision: ifRevision },
    closed,
  ),
  Type.Object({ op: Type.Literal("delete"), path: secretPath, if_revision: ifRevision }, closed),
]);

export type BatchOperation = Static<typeof operation>;

/** Operations that are applied atomically, in order. */
export const batch = Type.Object(
  { operations: Type.Array(operation, { minItems: 1, maxItems: 200 }) },
  closed,
);

export const batchOutcome = Type.Object(
  {
    revision,
    results: Type.Array(
      Type.Object({ outcome: Type.Enum(["created", "changed", "moved", "deleted"]), secret }, closed),
      { minItems: 1, maxItems: 200 },
    ),
  },
  closed,
);

export type BatchOutcome = Static<typeof batchOutcome>;
