import { requestFailure } from "./failures.ts";

/** Entity tags of a request, without their quotes. */
export type EntityTags = "any" | ReadonlySet<string>;

/** Conditions that a change requires (RFC 9110, section 13). */
export type Preconditions = {
  /** The resource exists and has one of these tags. */
  readonly match?: EntityTags;
  /** The resource does not exist or has none of these tags. */
  readonly noneMatch?: EntityTags;
};

export type PreconditionTarget = {
  /** Undefined when the resource does not exist. */
  readonly revision: number | undefined;
  /** Whether a change without any precondition is refused. */
  readonly isRequired: boolean;
};

export function assertPreconditions(
  { match, noneMatch }: Preconditions,
  { revision, isRequired }: PreconditionTarget,
): void {
  if (match === undefined && noneMatch === undefined) {
    if (isRequired) throw requestFailure({ kind: "precondition-required" });
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
