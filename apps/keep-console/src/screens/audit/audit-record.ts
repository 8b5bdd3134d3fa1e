import type { AuditPage } from "@hearth-and-keep/vault-contract";

export type AuditRecord = AuditPage["items"][number];

/** `log` of the records of the earlier log, whose numbers are their positions in it. */
const earlierLog = 0;

/** The name of a record in the list, as `keep audit verify` and the verify panel print it. */
export function recordName({ log, number }: Pick<AuditRecord, "log" | "number">): string {
  return log === earlierLog ? `#${number.toLocaleString("en")}` : `${log}/${number}`;
}

/** A vault id, the account's own log, or that of an organisation (`organisationLog`). */
export type LogId = "account" | (string & {});
