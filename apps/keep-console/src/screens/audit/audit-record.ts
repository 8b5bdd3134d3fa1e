import type { AuditPage } from "@hearth-and-keep/vault-contract";

export type AuditRecord = AuditPage["items"][number];

/** A vault id, or the account's own log. */
export type LogId = "account" | (string & {});
