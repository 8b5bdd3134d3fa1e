import type { AuditPage } from "@hearth-and-keep/vault-contract";

export type AuditRecord = AuditPage["items"][number];

/** One log: a vault's, by its id, or the account's own. */
export type LogPlace = "account" | (string & {});
