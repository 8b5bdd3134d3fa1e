import { hexBytes, joinBytes, sha256, textBytes, wholeNumberBytes } from "./bytes.ts";
import { canonicalJson, type Json } from "./canonical-json.ts";

/** One row of an audit log as its export has it. Hashes are in hexadecimal. */
export type AuditLink = {
  readonly seq: number;
  /** In UTC, to the microsecond: `2026-01-31T08:15:00.000000Z`. */
  readonly at: string;
  readonly previous: string;
  readonly body_hash: string;
  readonly hash: string;
  /** Null once it was erased; the chain holds without it. */
  readonly body: Json;
  readonly subject_id: string | null;
  readonly revision: number | null;
};

/** The first word of everything that is hashed; another way of hashing gets another one. */
export const chainFormat = "keep-audit/1";

const noSubject = "00000000-0000-0000-0000-000000000000";

/** What the first link of a chain has as its previous hash. */
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

const moment = /^(?<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(?<microsecond>\d{6})Z$/u;

/** Whether a text is a moment in the one form that an export has. */
export function isMoment(text: string): boolean {
  const second = moment.exec(text)?.groups?.["second"];
  if (second === undefined) return false;
  const milliseconds = Date.parse(`${second}Z`);
  // A 30th of February is read as a day in March, which is written back differently.
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(second);
}

export function microsecondsOf(at: string): bigint {
  const { second = "", microsecond = "" } = moment.exec(at)?.groups ?? {};
  return BigInt(Date.parse(`${second}Z`)) * 1000n + BigInt(microsecond);
}
