import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { closed, count, id, nullable, pageLimit, timestamp } from "./shared-fields.ts";

/** Every type of audit event. */
export const auditEventTypes = [
  "account-created",
  "account-deleted",
  "account-suspended",
  "account-resumed",
  "account-paused",
  "account-unpaused",
  "account-managed",
  "operator-added",
  "operator-removed",
  "organisation-created",
  "organisation-renamed",
  "member-added",
  "member-changed",
  "member-removed",
  "invitation-created",
  "invitation-accepted",
  "invitation-revoked",
  "team-created",
  "team-renamed",
  "team-deleted",
  "team-group-changed",
  "team-groups-skipped",
  "team-member-added",
  "team-member-removed",
  "grant-added",
  "grant-removed",
  "sign-in-refused",
  "signed-in",
  "identity-linked",
  "identity-unlinked",
  "session-ended",
  "command-line-approved",
  "command-line-denied",
  "vault-created",
  "vault-changed",
  "vault-deleted",
  "vault-restored",
  "vault-purged",
  "vault-transferred-out",
  "vault-transferred-in",
  "folder-created",
  "folder-deleted",
  "folder-moved",
  "secret-written",
  "secret-changed",
  "secret-deleted",
  "secret-restored",
  "secret-purged",
  "version-restored",
  "version-destroyed",
  "value-read",
  "value-used",
  "values-read",
  "values-exported",
  "values-imported",
  "folders-compared",
  "values-promoted",
  "change-proposed",
  "change-approved",
  "change-rejected",
  "change-withdrawn",
  "change-expired",
  "change-read",
  "token-created",
  "token-changed",
  "token-rotated",
  "token-revoked",
  "token-exchange-refused",
  "trust-rule-created",
  "trust-rule-changed",
  "trust-rule-deleted",
  "data-key-rotated",
  "data-key-destroyed",
  "integrity-broken",
  "chain-carried-over",
  "denied",
] as const;

/** One event of a vault or of the account. */
const auditEvent = Type.Object(
  {
    log: described(
      count,
      "Id of the node log that contains the record; 0 for the earlier log, which was carried over",
    ),
    number: described(
      count,
      "Unique in its log: microseconds since 1970, or the position in the earlier log",
    ),
    at: described(timestamp, "When it happened"),
    // The body depends on the event type; null after it was erased.
    body: Type.Unknown({ description: "The event; its fields depend on its type. Null after it was erased" }),
    subject_id: described(nullable(id), "The secret or vault that was changed; null for other events"),
    revision: described(nullable(count), "The vault's revision after the change; null for other events"),
  },
  { title: "AuditEvent", description: "One event of a vault or of the account" },
);

/**
 * Newest first; pass `next_before` as `before` to get the next page. Records of several logs with one number are never
 * split between pages, so a page can have more items than its limit.
 */
export const auditPage = Type.Object(
  {
    items: Type.Array(auditEvent, { maxItems: 1000, description: "The events of this page, newest first" }),
    next_before: Type.Optional(
      described(count, "Send it as `before` to get the next page; absent on the last page"),
    ),
  },
  { title: "AuditPage", description: "A page of audit events" },
);

export type AuditPage = Static<typeof auditPage>;

export const auditQuery = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    before: Type.Optional(
      Type.String({
        pattern: "^[1-9][0-9]{0,15}$",
        maxLength: 16,
        description: "Lists only events with a lower number: `next_before` of the page before",
        "x-expected": "the next_before of an earlier page",
      }),
    ),
    type: Type.Optional(
      Type.Enum([...auditEventTypes], {
        title: "AuditEventType",
        description: "Lists only events of this type",
      }),
    ),
    actor: Type.Optional(
      Type.String({
        pattern: "^(?:server|session|(?:person|session|token):[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$",
        maxLength: 44,
        description:
          "Lists only events by this person, session, token or the server, as `by` names them; `session` means any session",
        "x-expected": "server, session, or one of person, session and token with a colon and an id",
      }),
    ),
    secret: Type.Optional(
      described(
        id,
        "Lists only events that name this secret, including reads and changes of several secrets",
      ),
    ),
    since: Type.Optional(described(timestamp, "Lists only events at this time or later")),
    until: Type.Optional(described(timestamp, "Lists only events before this time")),
  },
  closed,
);

const checkpoint = Type.Object(
  {
    log: described(count, "Id of the node log"),
    origin: Type.String({ maxLength: 255, description: "Name of the log in its checkpoints" }),
    size: described(count, "Number of records that the checkpoint covers"),
    at: described(timestamp, "When it was signed"),
    note: Type.String({ maxLength: 8192, description: "A signed note as in C2SP's tlog-checkpoint" }),
  },
  { title: "AuditCheckpoint", description: "The latest signed checkpoint of a node log" },
);

/** The latest checkpoint of each node log that contains events of the vault or account. */
export const auditCheckpoints = Type.Object(
  { items: Type.Array(checkpoint, { maxItems: 1000, description: "One checkpoint per node log" }) },
  { title: "AuditCheckpoints", description: "The latest signed checkpoints" },
);

export const dailyQuery = Type.Object(
  {
    days: Type.Optional(
      Type.String({
        pattern: "^([1-9][0-9]?|[12][0-9]{2}|3[0-5][0-9]|36[0-6])$",
        maxLength: 3,
        description: "How many days up to today, from 1 to 366; 30 by default",
        "x-expected": "a whole number from 1 to 366",
      }),
    ),
  },
  closed,
);

const dayCounts = Type.Object(
  {
    day: Type.String({ format: "date", maxLength: 10, description: "The day in UTC" }),
    read: described(count, "Events that read values"),
    changed: described(count, "Events that changed something"),
    denied: described(count, "Denied requests"),
    signed_in: described(count, "Sign-ins"),
  },
  { title: "DayCounts", description: "The number of events of one day" },
);

/** One entry per UTC day up to today, including days without events. */
export const dailyCounts = Type.Object(
  { items: Type.Array(dayCounts, { maxItems: 366, description: "One entry per day, up to today" }) },
  { title: "DailyCounts", description: "The number of events per day" },
);

export type DailyCounts = Static<typeof dailyCounts>;

const auditKey = Type.Object(
  {
    version: described(count, "Number of the key"),
    public_key: Type.String({ maxLength: 128, description: "An Ed25519 key in SPKI form, base64" }),
  },
  { title: "AuditKey", description: "A public key that verifies checkpoints" },
);

/** The public keys that verify checkpoints: Ed25519 keys in SPKI form, base64. */
export const auditKeys = Type.Object(
  { keys: Type.Array(auditKey, { maxItems: 1000, description: "All keys, also earlier ones" }) },
  { title: "AuditKeys", description: "The public keys that verify checkpoints" },
);

export type AuditKeys = Static<typeof auditKeys>;
