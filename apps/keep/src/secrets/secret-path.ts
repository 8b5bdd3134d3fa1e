import { requestFailure } from "../failures.ts";

/** Where a secret is in its vault. */
export type SecretPath = {
  /** `/`, or segments with `/` before each. */
  readonly folder: string;
  readonly name: string;
  /** Folder and name in one: what patterns of tokens and audit records speak of. */
  readonly path: string;
};

const mostSegments = 16;
const mostSegmentCharacters = 255;
const mostFolderCharacters = 2048;
const forbidden = /[\p{Cc}\p{Cs}/]/u;
/** They mean something else elsewhere: steps in file systems, wildcards in tokens' patterns. */
const reserved = new Set([".", "..", "*", "**"]);

/** The path of a secret, with or without `/` before it. The place names the part of the request it came in. */
export function parseSecretPath(text: string, place = "path"): SecretPath {
  const segments = segmentsOf(text, place);
  const name = segments.at(-1);
  if (name === undefined) throw invalid(place, "must name a secret");
  const folder = refuseTooLong(`/${segments.slice(0, -1).join("/")}`, place);
  return { folder, name, path: joinPath(folder, name) };
}

/** The path of a folder, with or without `/` before it; empty text is the root. */
export function parseFolder(text: string, place = "path"): string {
  return refuseTooLong(`/${segmentsOf(text, place).join("/")}`, place);
}

/** Of a folder and a name that are known to be good, or of one given apart from the other. */
export function locateSecret(folder: string, name: string): SecretPath {
  return parseSecretPath(joinPath(folder, name), "name");
}

export function joinPath(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

/** A folder and all that it is in, the root left out. */
export function foldersUpTo(folder: string): readonly string[] {
  const segments = folder.split("/").filter((segment) => segment !== "");
  return segments.map((_segment, index) => `/${segments.slice(0, index + 1).join("/")}`);
}

/** Whether a folder is the other or lies in it. */
export function isInFolder(outer: string, folder: string): boolean {
  return outer === "/" || folder === outer || folder.startsWith(`${outer}/`);
}

function segmentsOf(text: string, place: string): readonly string[] {
  const path = text.startsWith("/") ? text.slice(1) : text;
  if (path === "") return [];
  const segments = path.split("/");
  if (segments.length > mostSegments)
    throw invalid(place, `must not have more than ${mostSegments} segments`);
  for (const segment of segments) refuseBadSegment(segment, place);
  return segments;
}

function refuseBadSegment(segment: string, place: string): void {
  if (segment.length === 0 || segment.length > mostSegmentCharacters) {
    throw invalid(place, `must have segments of 1 to ${mostSegmentCharacters} characters`);
  }
  if (forbidden.test(segment))
    throw invalid(place, "must not have control characters or halves of characters");
  if (reserved.has(segment)) throw invalid(place, `must not have the segment "${segment}"`);
}

function refuseTooLong(folder: string, place: string): string {
  if (folder.length <= mostFolderCharacters) return folder;
  throw invalid(place, `must not have a folder of more than ${mostFolderCharacters} characters`);
}

function invalid(place: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", mistakes: [{ place, reason }] });
}
