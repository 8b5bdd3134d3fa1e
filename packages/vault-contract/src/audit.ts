import { type Static, Type } from "typebox";
import { id, timestamp } from "./shared-fields.ts";

const hash = Type.String({ pattern: "^[0-9a-f]{64}$", maxLength: 64 });
const seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const integerText = Type.String({ pattern: "^[1-9][0-9]{0,14}$", maxLength: 15 });

/** One event in the hash chain of an audit log. */
const auditEvent = Type.Object({
  seq,
  at: timestamp,
  previous: hash,
  body_hash: hash,
  hash,
  // The body depends on the event type; null after it was erased.
  body: Type.Unknown(),
  subject_id: Type.Union([id, Type.Null()]),
  revision: Type.Union([seq, Type.Null()]),
});

/** Newest first; pass `next_before` as `before` to get the next page. */
export const auditPage = Type.Object({
  items: Type.Array(auditEvent, { maxItems: 200 }),
  next_before: Type.Optional(seq),
});

export type AuditPage = Static<typeof auditPage>;

export const auditQuery = Type.Object(
  {
    limit: Type.Optional(Type.String({ pattern: "^([1-9][0-9]?|1[0-9]{2}|200)$", maxLength: 3 })),
    before: Type.Optional(integerText),
    type: Type.Optional(Type.String({ pattern: "^[a-z]+(-[a-z]+)*$", maxLength: 64 })),
  },
  { additionalProperties: false },
);

export const checkpointQuery = Type.Omit(auditQuery, ["type"]);

const signature = Type.String({ maxLength: 128 });

export const checkpointPage = Type.Object({
  items: Type.Array(Type.Object({ seq, hash, at: timestamp, key_version: seq, signature }), {
    maxItems: 200,
  }),
  next_before: Type.Optional(seq),
});

export const dailyQuery = Type.Object(
  {
    days: Type.Optional(
      Type.String({ pattern: "^([1-9][0-9]?|[12][0-9]{2}|3[0-5][0-9]|36[0-6])$", maxLength: 3 }),
    ),
  },
  { additionalProperties: false },
);

/** One entry per UTC day up to today, including days without events. */
export const dailyCounts = Type.Object({
  items: Type.Array(
    Type.Object({
      day: Type.String({ format: "date", maxLength: 10 }),
      read: seq,
      changed: seq,
      denied: seq,
      signed_in: seq,
    }),
    { maxItems: 366 },
  ),
});

export type DailyCounts = Static<typeof dailyCounts>;

/** The public keys that verify checkpoints: Ed25519 keys in SPKI form, base64. */
export const auditKeys = Type.Object({
  keys: Type.Array(Type.Object({ version: seq, public_key: Type.String({ maxLength: 128 }) }), {
    maxItems: 1000,
  }),
});

export type AuditKeys = Static<typeof auditKeys>;
