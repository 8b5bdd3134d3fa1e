import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { batchOperation, secretPath, secretType, valueEncoding } from "./secrets.ts";
import {
  closed,
  cursor,
  flag,
  id,
  lineOfText,
  nextCursor,
  nullable,
  pageLimit,
  revision,
  timestamp,
} from "./shared-fields.ts";
import { reviewedSettings } from "./vaults.ts";

const maxOperations = 200;
const reason = described(
  lineOfText(500),
  "Why, for the person who reviews it; not encrypted, and in the audit log, so it must not contain a value",
);
const deleteVault = Type.Literal(true, {
  description: "Deletes the vault; nothing else can be part of the change",
});
const restoreVault = Type.Literal(true, {
  description: "Restores a deleted vault; nothing else can be part of the change",
});

export const newChange = Type.Object(
  {
    reason,
    operations: Type.Optional(
      Type.Array(batchOperation, {
        minItems: 1,
        maxItems: maxOperations,
        description: "As in a batch: applied in this order, all or none",
      }),
    ),
    ...reviewedSettings,
    delete_vault: Type.Optional(deleteVault),
    restore_vault: Type.Optional(restoreVault),
  },
  {
    ...closed,
    title: "NewChange",
    description: "A change that takes effect once another person approves it",
  },
);

export type NewChangeBody = Static<typeof newChange>;

const fingerprint = Type.String({
  pattern: "^[0-9a-f]{64}$",
  maxLength: 64,
  description: "Identifies exactly what the change does; send it to approve what was reviewed",
  "x-expected": "the fingerprint of the change",
});
const actorName = Type.String({ maxLength: 64, description: "`person:` or `token:` and an id" });
const operations = Type.Integer({
  minimum: 0,
  maximum: maxOperations,
  description: "The number of its operations",
});

const summaryFields = {
  id: described(id, "Identifies the change"),
  state: Type.Enum(["pending", "approved", "rejected", "withdrawn", "expired"], {
    title: "ChangeState",
    description: "`pending` until it is decided, or expires",
  }),
  reason,
  fingerprint,
  operation_count: operations,
  proposed_by: described(actorName, "Who proposed it: `person:` or `token:` and an id"),
  proposed_at: described(timestamp, "When it was proposed"),
  expires_at: described(timestamp, "When it expires, unless it is decided before"),
  decided_by: described(nullable(actorName), "Who decided; null while it is pending"),
  decided_at: described(nullable(timestamp), "When it was decided; null while it is pending"),
};

export const changeSummary = Type.Object(summaryFields, {
  ...closed,
  title: "ChangeSummary",
  description: "A proposed change, without what it does",
});

export type ChangeSummary = Static<typeof changeSummary>;

export const changePage = Type.Object(
  {
    items: Type.Array(changeSummary, { maxItems: 200, description: "The changes, newest first" }),
    next_cursor: nextCursor,
  },
  { ...closed, title: "ChangePage", description: "A page of proposed changes" },
);

export type ChangePage = Static<typeof changePage>;

export const changeListQuery = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(cursor),
    state: Type.Optional(
      Type.Enum(["decided"], { description: "Lists the decided changes of the last 90 days instead" }),
    ),
  },
  closed,
);

const reviewedOperation = Type.Object(
  {
    op: Type.Enum(["put", "move", "delete"], {
      title: "ChangeOperation",
      description: "What it does: writes a value, moves or deletes a secret",
    }),
    path: described(secretPath, "The secret"),
    to: Type.Optional(described(secretPath, "Its new path; only if it is moved")),
    revision: described(revision, "Revision of the secret when this was proposed; 0 if it did not exist"),
    type: Type.Optional(secretType),
    tags: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: 32,
        description: "Its new tags; absent if it keeps its tags",
      }),
    ),
    size: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_048_576,
        description: "Bytes of the value; only if one is written",
      }),
    ),
    note: Type.Optional(
      Type.Enum(["written", "removed"], {
        title: "ChangeOfNote",
        description: "What becomes of the note; absent if the secret keeps it",
      }),
    ),
    value: Type.Optional(
      Type.String({ maxLength: 1_398_104, description: "The value; only with `values=true`" }),
    ),
    encoding: Type.Optional(valueEncoding),
    note_text: Type.Optional(
      Type.String({ maxLength: 4096, description: "The new note; only with `values=true`" }),
    ),
  },
  { ...closed, title: "ReviewedOperation", description: "One operation of a proposed change" },
);

export type ReviewedOperation = Static<typeof reviewedOperation>;

export const change = Type.Object(
  {
    ...summaryFields,
    operations: Type.Optional(
      Type.Array(reviewedOperation, {
        maxItems: maxOperations,
        description: "What it does, in this order; absent once it is decided",
      }),
    ),
    ...reviewedSettings,
    delete_vault: Type.Optional(deleteVault),
    restore_vault: Type.Optional(restoreVault),
  },
  { ...closed, title: "Change", description: "A proposed change, with what it does while it is pending" },
);

export type Change = Static<typeof change>;

export const changeQuery = Type.Object(
  {
    values: Type.Optional(
      described(
        flag,
        "`true` returns the new values too, which counts as reading them; needs `secrets:read`",
      ),
    ),
  },
  closed,
);

export const changeApproval = Type.Object(
  { fingerprint },
  { ...closed, title: "ChangeApproval", description: "The approval of a change that was reviewed" },
);
