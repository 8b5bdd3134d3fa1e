import { requestFailure } from "../failures.ts";

/** What of a log to list; a parameter that is left out excludes nothing. */
export type FilterQuery = {
  readonly type?: string;
  readonly actor?: string;
  readonly secret?: string;
  readonly since?: string;
  readonly until?: string;
};

export type RecordFilter = {
  /** Texts that the body of each listed record contains. */
  readonly texts: readonly string[];
  /** Microseconds since 1970; records at that time are listed. */
  readonly since: number | undefined;
  /** Microseconds since 1970; records at that time are not listed. */
  readonly until: number | undefined;
};

/**
 * Bodies are canonical JSON, which escapes quotes inside strings: a text with unescaped quotes is a member and its value
 * or part of it. An id needs no quotes, since no other text of a body has its form.
 */
export function toRecordFilter({ type, actor, secret, since, until }: FilterQuery): RecordFilter {
  return {
    texts: [
      ...(type === undefined ? [] : [`"type":"${type}"`]),
      ...(actor === undefined ? [] : [actor === anySession ? `"by":"${actor}:` : `"by":"${actor}"`]),
      ...(secret === undefined ? [] : [secret]),
    ],
    since: readTime("since", since),
    until: readTime("until", until),
  };
}

/** In the log of a personal account, all its sessions are of one person. */
const anySession = "session";

function readTime(field: "since" | "until", text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const milliseconds = Date.parse(text);
  // The schema accepts leap seconds, which have no such number.
  if (Number.isNaN(milliseconds)) {
    const reason = "must be a date and time such as 2026-01-31T12:00:00.000Z";
    throw requestFailure({ kind: "request-invalid", errors: [{ field, reason }] });
  }
  return Math.max(0, milliseconds * 1000);
}
