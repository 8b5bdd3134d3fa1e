/** First line of everything that is hashed; it changes with the format. */
export const recordFormat = "keep-audit/2";

/** One audited event, without its content. */
export type AuditRecord = {
  /** The log of the node that wrote the record; usually also the log that it is a leaf of. */
  readonly log: number;
  /** Microseconds since 1970; unique in its log. */
  readonly number: number;
  readonly account: string;
  /** ID of a vault or of the account: the records that are read and exported together. */
  readonly stream: string;
  /** "read", "changed", "denied" or "signed-in". */
  readonly outcome: string;
  /** The changed secret. */
  readonly subject: string | null;
  readonly revision: number | null;
  /** SHA-256 of the body in canonical JSON, hexadecimal. */
  readonly bodyHash: string;
};

export function recordText(record: AuditRecord): string {
  const { log, number, account, stream, outcome, subject, revision, bodyHash } = record;
  return `${recordFormat}\nrecord\n${log}\n${number}\n${account}\n${stream}\n${outcome}\n${subject ?? "-"}\n${revision ?? "-"}\n${bodyHash}\n`;
}

export type RecordLeaf = {
  /** Index of the stream's previous leaf in the same log; null for its first one. */
  readonly previous: number | null;
  /** SHA-256 of the record's text, hexadecimal. */
  readonly recordHash: string;
};

/** What the tree hashes for a record. */
export function leafText({ previous, recordHash }: RecordLeaf): string {
  return `${recordFormat}\nleaf\n${previous ?? "-"}\n${recordHash}\n`;
}

/** UTC with microseconds: `2026-01-31T08:15:00.000000Z`. */
export function timestampOf(number: number): string {
  const milliseconds = new Date(Math.floor(number / 1000)).toISOString().slice(0, -1);
  return `${milliseconds}${String(number % 1000).padStart(3, "0")}Z`;
}
