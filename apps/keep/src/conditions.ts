import { requestFailure } from "./failures.ts";

/** Entity tags as a request names them, without their quotes. */
export type EntityTags = "any" | ReadonlySet<string>;

/** What must be so for a change to happen (RFC 9110, section 13). */
export type Conditions = {
  /** It is there, and one of these. */
  readonly match?: EntityTags;
  /** It is not there, or none of these. */
  readonly noneMatch?: EntityTags;
};

export type ConditionTarget = {
  /** Of what is to be changed; undefined when it is not there. */
  readonly revision: number | undefined;
  /** Whether a change without any condition is refused. */
  readonly isDemanded: boolean;
};

export function refuseUnlessMet(
  { match, noneMatch }: Conditions,
  { revision, isDemanded }: ConditionTarget,
): void {
  if (match === undefined && noneMatch === undefined) {
    if (isDemanded) throw requestFailure({ kind: "precondition-required" });
    return;
  }
  const isMet =
    (match === undefined || isOneOf(match, revision)) &&
    (noneMatch === undefined || !isOneOf(noneMatch, revision));
  if (!isMet) throw requestFailure({ kind: "precondition-failed" });
}

function isOneOf(tags: EntityTags, revision: number | undefined): boolean {
  if (revision === undefined) return false;
  return tags === "any" || tags.has(String(revision));
}
