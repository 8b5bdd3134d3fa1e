import type { RequestHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "./failures.ts";

/** Entity tags of a request, without their quotes. */
type EntityTags = "any" | ReadonlySet<string>;

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
  if (match !== undefined && !isOneOf(match, revision)) {
    throw requestFailure({
      kind: "precondition-failed",
      reason: revision === undefined ? "missing" : "changed",
    });
  }
  if (noneMatch !== undefined && isOneOf(noneMatch, revision)) {
    throw requestFailure({ kind: "precondition-failed", reason: "exists" });
  }
}

function isOneOf(tags: EntityTags, revision: number | undefined): boolean {
  if (revision === undefined) return false;
  return tags === "any" || tags.has(String(revision));
}

const maxTags = 100;
/** RFC 9110, section 8.8.3; a list may have empty elements. */
const entityTag = /^(?<weak>W\/)?"(?<tag>[\x21\x23-\x7e\x80-\xff]{0,256})"$/u;

export function entityTagOf(revision: number): string {
  return `"${revision}"`;
}

/** `If-Match` uses strong comparison, so weak tags in it never match; `If-None-Match` uses weak comparison. */
export function readPreconditions(headers: RequestHead["headers"]): Preconditions {
  const match = readTags(headers, "if-match");
  const noneMatch = readTags(headers, "if-none-match");
  return {
    ...(match === undefined ? {} : { match }),
    ...(noneMatch === undefined ? {} : { noneMatch }),
  };
}

function readTags(
  headers: RequestHead["headers"],
  name: "if-match" | "if-none-match",
): EntityTags | undefined {
  const header = headers[name];
  if (header === undefined) return undefined;
  const elements = [header]
    .flat()
    .flatMap((line) => line.split(","))
    .map((element) => element.trim())
    .filter((element) => element !== "");
  if (elements.length === 1 && elements[0] === "*") return "any";
  const tags = elements.map((element) => entityTag.exec(element)?.groups);
  if (elements.length === 0 || elements.length > maxTags || tags.includes(undefined)) {
    throw requestFailure({
      kind: "request-invalid",
      errors: [{ field: name, reason: "must be * or a list of entity tags in quotes" }],
    });
  }
  const isStrong = name === "if-match";
  return new Set(
    tags.flatMap((groups) =>
      groups?.["tag"] === undefined || (isStrong && groups["weak"] !== undefined) ? [] : [groups["tag"]],
    ),
  );
}
