import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { egressRule } from "./egress.ts";
import {
  closed,
  cursor,
  flag,
  id,
  label,
  lineOfText,
  nextCursor,
  nullable,
  pageLimit,
  revision,
  timestamp,
} from "./shared-fields.ts";

/** The path of a secret (folder and name joined) or of a folder. The server validates its segments. */
export const secretPath = Type.String({ minLength: 1, maxLength: 2400 });

const segment = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "Name of the secret, without its folder",
});
export const secretType = Type.Enum(["text", "json", "binary", "file"], {
  title: "SecretType",
  description: "What the value is; `json` values are checked, only `text` values can contain references",
});
export const valueEncoding = Type.Enum(["utf8", "base64"], {
  title: "ValueEncoding",
  description: "How `value` represents the bytes of the value",
});
const version = Type.Integer({
  minimum: 1,
  maximum: 2_147_483_647,
  description: "Number of the version; numbers are never used twice",
});
const tag = lineOfText(64);
const tags = Type.Array(tag, { maxItems: 32, uniqueItems: true, description: "Tags, for search" });
const note = Type.String({
  maxLength: 4096,
  description: "A note, encrypted like the value",
});
/** 1 MiB, encoded as base64. */
const value = Type.String({ maxLength: 1_398_104, description: "The value, at most 1 MiB" });
const actorName = Type.String({ maxLength: 64 });
const size = Type.Integer({ minimum: 0, maximum: 1_048_576, description: "Bytes of the value" });

const path = described(secretPath, "Folder and name, e.g. `/prod/DATABASE_URL`");
const folderPath = described(secretPath, "The folder, e.g. `/prod`; `/` is the root");
const listing = {
  path: Type.Optional(described(secretPath, "The folder to list; the root by default")),
  recursive: Type.Optional(described(flag, "`true` lists its subfolders too")),
};
const page = { limit: Type.Optional(pageLimit), cursor: Type.Optional(cursor) };

/** Metadata of a secret, without its value and note. */
export const secret = Type.Object(
  {
    id: described(id, "Identifies the secret; stays when it is renamed or moved"),
    folder: folderPath,
    name: segment,
    path,
    type: secretType,
    version: described(version, "Number of the current version"),
    revision: described(revision, "The vault's revision when the secret last changed; also its ETag"),
    tags,
    has_note: Type.Boolean({ description: "Whether it has a note, which is returned with the value" }),
    size,
    egress: Type.Optional(egressRule),
    created_at: described(timestamp, "When it was created"),
    updated_at: described(timestamp, "When it last changed"),
    updated_by: described(actorName, "Who changed it last: `session:` or `token:` and an id, or `server`"),
    deleted_at: Type.Optional(described(timestamp, "When it was deleted; absent for a live secret")),
  },
  { ...closed, title: "Secret", description: "A secret, without its value and note" },
);

export type SecretMetadata = Static<typeof secret>;

export const secretPage = Type.Object(
  {
    items: Type.Array(secret, { maxItems: 200, description: "The secrets of this page" }),
    next_cursor: nextCursor,
  },
  { ...closed, title: "SecretPage", description: "A page of secrets" },
);

export type SecretPage = Static<typeof secretPage>;

const secretSort = Type.Enum(["name", "-name", "updated", "-updated", "created", "-created"], {
  title: "SecretSort",
  description:
    "Order of the list: `name` is the folder and then the name, which is the default; `updated` and `created` list the oldest first; `-` reverses the order. Deleted secrets have no other order than theirs",
});

export type SecretSort = Static<typeof secretSort>;

export const secretListQuery = Type.Object(
  {
    ...listing,
    q: Type.Optional(described(label, "Lists only secrets whose path contains this text, in any case")),
    tag: Type.Optional(described(tag, "Lists only secrets with this tag")),
    state: Type.Optional(Type.Enum(["deleted"], { description: "Lists deleted secrets instead" })),
    sort: Type.Optional(secretSort),
    ...page,
  },
  closed,
);

const content = {
  value,
  encoding: Type.Optional(valueEncoding),
  type: Type.Optional(secretType),
  tags: Type.Optional(tags),
  note: Type.Optional(described(nullable(note), "A note, encrypted like the value; null removes it")),
};

/** Omitted fields keep their current value. */
export const newSecret = Type.Object(content, {
  ...closed,
  title: "NewSecret",
  description: "A value to write; omitted fields of an existing secret keep theirs",
});

export type NewSecretBody = Static<typeof newSecret>;

export const secretChanges = Type.Object(
  {
    name: Type.Optional(segment),
    folder: Type.Optional(folderPath),
    tags: content.tags,
    note: content.note,
    egress: Type.Optional(
      described(
        nullable(egressRule),
        "For what agents may use it; null for nothing. Requires that you may read it",
      ),
    ),
  },
  {
    ...closed,
    minProperties: 1,
    title: "SecretChanges",
    description: "At least one field; the others keep their values",
  },
);

export type SecretChangesBody = Static<typeof secretChanges>;

export const secretValue = Type.Object(
  {
    id: described(id, "Identifies the secret"),
    path,
    version,
    type: secretType,
    value,
    encoding: valueEncoding,
    note: Type.Optional(note),
  },
  { ...closed, title: "SecretValue", description: "The value of a secret" },
);

export type SecretValue = Static<typeof secretValue>;

export const expand = Type.Optional(
  Type.Enum(["references"], { description: "Replaces references such as `${/prod/HOST}` by their values" }),
);

export const valueQuery = Type.Object(
  {
    version: Type.Optional(
      Type.String({
        pattern: "^[1-9][0-9]{0,8}$",
        maxLength: 9,
        description: "Number of the version to read; the current one by default",
        "x-expected": "the number of a version",
      }),
    ),
    expand,
  },
  closed,
);

export const valueByPathQuery = Type.Object({ expand }, closed);

export const secretVersion = Type.Object(
  {
    version,
    type: secretType,
    size,
    created_at: described(timestamp, "When it was written"),
    created_by: described(actorName, "Who wrote it: `session:` or `token:` and an id"),
    destroyed_at: Type.Optional(
      described(timestamp, "When its value was destroyed; absent while it has one"),
    ),
  },
  { ...closed, title: "SecretVersion", description: "A version of a secret, without its value" },
);

export type SecretVersion = Static<typeof secretVersion>;

export const versionPage = Type.Object(
  {
    items: Type.Array(secretVersion, { maxItems: 200, description: "The versions of this page" }),
    next_cursor: nextCursor,
  },
  { ...closed, title: "VersionPage", description: "A page of versions" },
);

export type VersionPage = Static<typeof versionPage>;

export const pageQuery = Type.Object(page, closed);

export const folder = Type.Object(
  { path: folderPath, created_at: described(timestamp, "When it was created") },
  { ...closed, title: "Folder", description: "A folder" },
);

export const folderPage = Type.Object(
  {
    items: Type.Array(folder, { maxItems: 200, description: "The folders of this page" }),
    next_cursor: nextCursor,
  },
  { ...closed, title: "FolderPage", description: "A page of folders" },
);

export type FolderPage = Static<typeof folderPage>;

export const folderListQuery = Type.Object({ ...listing, ...page }, closed);

export const newFolder = Type.Object(
  { path: folderPath },
  { ...closed, title: "NewFolder", description: "The folder to create, with its parents" },
);

export const folderDeletionQuery = Type.Object(
  {
    path: described(secretPath, "The folder to delete"),
    recursive: Type.Optional(described(flag, "`true` deletes what it contains too")),
  },
  closed,
);

export const folderMove = Type.Object(
  {
    from: described(secretPath, "The folder to move"),
    to: described(secretPath, "Its new path"),
  },
  { ...closed, title: "FolderMove", description: "Moves a folder with its contents" },
);

/** `secrets` is the number of moved or deleted secrets. */
export const folderOutcome = Type.Object(
  {
    secrets: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      description: "How many secrets were moved or deleted with it",
    }),
    revision,
  },
  { ...closed, title: "FolderOutcome", description: "What became of a folder" },
);

/** The required revision of the secret; 0 requires that it does not exist, `*` that it exists. */
const ifRevision = Type.Optional(
  described(
    Type.Union([revision, Type.Literal("*")]),
    "Required revision of the secret: 0 if it must not exist, `*` if it must exist",
  ),
);

const put = Type.Object(
  {
    op: Type.Literal("put", { description: "Writes a value" }),
    path,
    ...content,
    if_revision: ifRevision,
  },
  { ...closed, title: "PutOperation", description: "Writes a value at a path" },
);
const move = Type.Object(
  {
    op: Type.Literal("move", { description: "Moves a secret" }),
    path,
    to: described(secretPath, "Its new path"),
    if_revision: ifRevision,
  },
  { ...closed, title: "MoveOperation", description: "Moves a secret to another path" },
);
const deletion = Type.Object(
  { op: Type.Literal("delete", { description: "Deletes a secret" }), path, if_revision: ifRevision },
  { ...closed, title: "DeleteOperation", description: "Deletes a secret, restorable for 30 days" },
);

export const batchOperation = Type.Union([put, move, deletion]);

export type BatchOperation = Static<typeof batchOperation>;

/** Operations that are applied atomically, in order. */
export const batch = Type.Object(
  {
    operations: Type.Array(batchOperation, {
      minItems: 1,
      maxItems: 200,
      description: "Applied in this order, all or none",
    }),
  },
  { ...closed, title: "Batch", description: "Changes to apply atomically" },
);

const batchResult = Type.Object(
  {
    outcome: Type.Enum(["created", "changed", "moved", "deleted"], {
      description: "What became of the secret",
    }),
    secret,
  },
  { ...closed, title: "BatchResult", description: "The result of one operation" },
);

export const batchOutcome = Type.Object(
  {
    revision,
    results: Type.Array(batchResult, {
      minItems: 1,
      maxItems: 200,
      description: "One result per operation, in the same order",
    }),
  },
  { ...closed, title: "BatchOutcome", description: "The results of a batch" },
);

export type BatchOutcome = Static<typeof batchOutcome>;
