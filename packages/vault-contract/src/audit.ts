import { type Static, Type } from "typebox";
import { id, timestamp } from "./shared-fields.ts";

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const integerText = Type.String({ pattern: "^[1-9][0-9]{0,15}$", maxLength: 16 });

/** One event of a vault or of the account. */
const auditEvent = Type.Object({
  /** Id of the node log that contains the record; 0 for the earlier log, which was carried over. */
  log: count,
  /** Unique in its log: microseconds since 1970, or the position in the earlier log. */
  number: count,
  at: timestamp,
  // The body depends on the event type; null after it was erased.
  body: Type.Unknown(),
  subject_id: Type.Union([id, Type.Null()]),
  revision: Type.Union([count, Type.Null()]),
});

/**
 * Newest first; pass `next_before` as `before` to get the next page. Records of several logs with one number are never
 * split between pages, so a page can have more items than its limit.
 */
export const auditPage = Type.Object({
  items: Type.Array(auditEvent, { maxItems: 1000 }),
  next_before: Type.Optional(count),
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

/** The latest checkpoint of each node log that contains events of the vault or account. */
export const auditCheckpoints = Type.Object({
  items: Type.Array(
    Type.Object({
      log: count,
      origin: Type.String({ maxLength: 255 }),
      size: count,
      at: timestamp,
      /** A signed note as in C2SP's tlog-checkpoint. */
      note: Type.String({ maxLength: 8192 }),
    }),
    { maxItems: 1000 },
  ),
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
      read: count,
      changed: count,
      denied: count,
      signed_in: count,
    }),
    { maxItems: 366 },
  ),
});

export type DailyCounts = Static<typeof dailyCounts>;

/** The public keys that verify checkpoints: Ed25519 keys in SPKI form, base64. */
export const auditKeys = Type.Object({
  keys: Type.Array(Type.Object({ version: count, public_key: Type.String({ maxLength: 128 }) }), {
    maxItems: 1000,
  }),
});

export type AuditKeys = Static<typeof auditKeys>;
