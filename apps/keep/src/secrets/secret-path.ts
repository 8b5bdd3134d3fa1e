import { splitPath } from "../authorization/path-patterns.ts";
import { requestFailure } from "../failures.ts";

/** The path of a secret within its vault. */
export type SecretPath = {
  /** `/`, or an absolute path such as `/prod/database`. */
  readonly folder: string;
  readonly name: string;
  /** Folder and name joined, as in token patterns and audit records. */
  readonly path: string;
};

const maxSegments = 16;
const maxSegmentCharacters = 255;
const maxFolderCharacters = 2048;
/** Control characters, lone surrogates, and characters that are not visible, such as those that reverse the text. */
const forbidden = /[\p{Cc}\p{Cs}\p{Cf}/]/u;
/** Reserved because they have a meaning in file systems or in token patterns. */
const reserved = new Set([".", "..", "*", "**"]);

/** Accepts a path with or without its leading slash. `field` names the part of the request in errors. */
export function parseSecretPath(text: string, field = "path"): SecretPath {
  const segments = parseSegments(text, field);
  const name = segments.at(-1);
  if (name === undefined) throw invalid(field, "must name a secret");
  const folder = assertFolderLength(`/${segments.slice(0, -1).join("/")}`, field);
  return { folder, name, path: joinPath(folder, name) };
}

/** Accepts a path with or without its leading slash; an empty text is the root. */
export function parseFolder(text: string, field = "path"): string {
  return assertFolderLength(`/${parseSegments(text, field).join("/")}`, field);
}

/** Validates a folder and a name together: a valid folder and a valid name can still be too long as one path. */
export function toSecretPath(folder: string, name: string): SecretPath {
  return parseSecretPath(joinPath(folder, name), "name");
}

export function joinPath(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

/** Of the path of a secret. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

/** The folder and its parents, outermost first, without the root. */
export function listAncestors(folder: string): readonly string[] {
  const segments = splitPath(folder);
  return segments.map((_segment, index) => `/${segments.slice(0, index + 1).join("/")}`);
}

/** Whether the folder is `outer` or inside it. */
export function isInFolder(outer: string, folder: string): boolean {
  return outer === "/" || folder === outer || folder.startsWith(`${outer}/`);
}

/** In Unicode's composed form (NFC), so that names that look the same are the same. */
function parseSegments(text: string, field: string): readonly string[] {
  const composed = text.normalize("NFC");
  const segments = splitPath(composed.startsWith("/") ? composed : `/${composed}`);
  if (segments.length > maxSegments) throw invalid(field, `must have at most ${maxSegments} segments`);
  for (const segment of segments) assertValidSegment(segment, field);
  return segments;
}

function assertValidSegment(segment: string, field: string): void {
  if (segment.length === 0) throw invalid(field, "must not contain an empty segment, as between two slashes");
  if (segment.length > maxSegmentCharacters) {
    throw invalid(field, `must have segments of at most ${maxSegmentCharacters} characters`);
  }
  if (forbidden.test(segment)) {
    throw invalid(field, "must not contain control characters, invisible characters or lone surrogates");
  }
  if (segment.trim() !== segment) throw invalid(field, "must not begin or end a segment with white space");
  if (reserved.has(segment)) throw invalid(field, `must not contain the segment "${segment}"`);
}

function assertFolderLength(folder: string, field: string): string {
  if (folder.length <= maxFolderCharacters) return folder;
  throw invalid(field, `must have a folder of at most ${maxFolderCharacters} characters`);
}

function invalid(field: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", errors: [{ field, reason }] });
}
