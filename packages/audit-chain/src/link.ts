import { hexBytes, joinBytes, sha256, textBytes, wholeNumberBytes } from "./bytes.ts";
import { canonicalJson, type Json } from "./canonical-json.ts";

/** One record of an audit log, as exported. Hashes are hexadecimal. */
export type AuditLink = {
  readonly seq: number;
  /** UTC with microseconds: `2026-01-31T08:15:00.000000Z`. */
  readonly at: string;
  readonly previous: string;
  readonly body_hash: string;
  readonly hash: string;
  /** Null after erasure; the chain is still verifiable without it. */
  readonly body: Json;
  readonly subject_id: string | null;
  readonly revision: number | null;
};

/** Prefix of everything that is hashed; it changes with the format. */
export const chainFormat = "keep-audit/1";

const noSubject = "00000000-0000-0000-0000-000000000000";

/** `previous` of the first link. */
export function hashBeforeFirst(chain: string): Promise<string> {
  return sha256(joinBytes([textBytes(chainFormat), hexBytes(chain)]));
}

export function hashBody(body: Json): Promise<string> {
  return sha256(textBytes(canonicalJson(body)));
}

/** sha256(format 00 chain seq at-in-microseconds previous body-hash subject revision) */
export function hashLink(chain: string, link: AuditLink): Promise<string> {
  return sha256(
    joinBytes([
      textBytes(`${chainFormat}\0`),
      hexBytes(chain),
      wholeNumberBytes(BigInt(link.seq)),
      wholeNumberBytes(microsecondsOf(link.at)),
      hexBytes(link.previous),
      hexBytes(link.body_hash),
      hexBytes(link.subject_id ?? noSubject),
      wholeNumberBytes(BigInt(link.revision ?? 0)),
    ]),
  );
}

const timestamp = /^(?<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(?<microsecond>\d{6})Z$/u;

/** Whether a string is a valid timestamp in the format of an export. */
export function isTimestamp(text: string): boolean {
  const second = timestamp.exec(text)?.groups?.["second"];
  if (second === undefined) return false;
  const milliseconds = Date.parse(`${second}Z`);
  // Date.parse reads February 30 as a day in March, which serialises differently.
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(second);
}

export function microsecondsOf(at: string): bigint {
  const { second = "", microsecond = "" } = timestamp.exec(at)?.groups ?? {};
  return BigInt(Date.parse(`${second}Z`)) * 1000n + BigInt(microsecond);
}
