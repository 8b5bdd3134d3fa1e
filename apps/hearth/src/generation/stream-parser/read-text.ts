import type { ParserSteps, Scanner, TextChunk } from "./scanner.ts";

export type MarkerSearch = {
  readonly markers: readonly string[];
  /** Whether whitespace right before a marker is dropped with it. */
  readonly trimsBeforeMarker?: boolean;
  /** Whether whitespace at the end of the text is dropped too. */
  readonly trimsAtEnd?: boolean;
  /**
   * How to handle a partial marker when the text ends. `keep`: it is text. `drop-if-truncated`: drop it if the output
   * was truncated by the token limit, because then it most likely was a marker.
   */
  readonly partialMarkerAtEnd?: "keep" | "drop-if-truncated";
};

/**
 * Passes on text up to the earliest marker, which is returned but not consumed; undefined at the end of the text.
 * If several markers match at the same position the longest wins, so a shorter one waits while a longer one may still
 * complete.
 */
export function* readUntil(
  scanner: Scanner,
  search: MarkerSearch,
  onChunk: (chunk: TextChunk) => void,
): ParserSteps<string | undefined> {
  for (;;) {
    const isEnded = scanner.endedBy !== undefined;
    const { at, marker } = findMarker(scanner.unread, search.markers, isEnded);
    const before = scanner.unread.slice(0, at);
    const isEndOfText = isEnded && marker === undefined;
    const trims = isEndOfText ? search.trimsAtEnd : search.trimsBeforeMarker;
    const visible = trims === true ? before.trimEnd().length : before.length;
    if (visible > 0) onChunk(scanner.take(visible));
    if (marker !== undefined || isEndOfText) {
      scanner.take(at - visible);
      if (isEndOfText) flushPartialMarker(scanner, search, onChunk);
      return marker;
    }
    yield;
  }
}

/** All remaining unread text is a partial marker. */
function flushPartialMarker(
  scanner: Scanner,
  search: MarkerSearch,
  onChunk: (chunk: TextChunk) => void,
): void {
  const held = scanner.take(scanner.unread.length);
  if (held.text === "") return;
  if (search.partialMarkerAtEnd === "drop-if-truncated" && scanner.endedBy === "length") return;
  onChunk(held);
}

type MarkerMatch = { readonly at: number; readonly marker?: string };

/** The first position of a marker, or of a partial marker at the end of the text. */
function findMarker(text: string, markers: readonly string[], isEnded: boolean): MarkerMatch {
  const complete = markers.map((marker) => indexOfMarker(text, marker));
  const partial = markers.map((marker) => indexOfPartialMarker(text, marker));
  const hasComplete = complete.some((index) => index !== notFound);
  // At the end of the text a partial marker can no longer complete, so it must not hide a complete one after it.
  const candidates = isEnded && hasComplete ? complete : [...complete, ...partial];
  const at = Math.min(text.length, ...candidates);
  const longest = markers
    .filter((_, index) => complete[index] === at)
    .toSorted((left, right) => right.length - left.length)[0];
  const mayGrow = !isEnded && partial.includes(at);
  return longest === undefined || mayGrow ? { at } : { at, marker: longest };
}

const notFound = Number.POSITIVE_INFINITY;

function indexOfMarker(text: string, marker: string): number {
  const at = text.indexOf(marker);
  return at === -1 ? notFound : at;
}

function indexOfPartialMarker(text: string, marker: string): number {
  for (let at = Math.max(0, text.length - marker.length + 1); at < text.length; at += 1) {
    if (marker.startsWith(text.slice(at))) return at;
  }
  return notFound;
}

/** Reads up to a marker into one string; `marker` is undefined if the text ends first. */
export function* collectUntil(scanner: Scanner, markers: readonly string[]): ParserSteps<CollectedText> {
  let text = "";
  const marker = yield* readUntil(scanner, { markers }, (chunk) => {
    text += chunk.text;
  });
  return { text, marker };
}

export type CollectedText = { readonly text: string; readonly marker: string | undefined };

/** The longest of the literals that comes next, not consumed; decides as early as possible. */
export function* peekLiteral(scanner: Scanner, literals: readonly string[]): ParserSteps<string | undefined> {
  const longestFirst = literals.toSorted((left, right) => right.length - left.length);
  for (;;) {
    const { unread, endedBy } = scanner;
    const mayGrow = longestFirst.some(
      (literal) => literal.length > unread.length && literal.startsWith(unread),
    );
    if (!mayGrow || endedBy !== undefined) return longestFirst.find((literal) => unread.startsWith(literal));
    yield;
  }
}

/** Consumes the literal if it comes next and returns whether it did. A partial one, truncated by the limit, is dropped. */
export function* takeLiteral(scanner: Scanner, literal: string): ParserSteps<boolean> {
  const isNext = (yield* peekLiteral(scanner, [literal])) !== undefined;
  if (isNext) scanner.take(literal.length);
  else if (scanner.endedBy === "length" && literal.startsWith(scanner.unread)) {
    scanner.take(scanner.unread.length);
  }
  return isNext;
}

export function* skipWhitespace(scanner: Scanner): ParserSteps {
  for (;;) {
    scanner.take(scanner.unread.length - scanner.unread.trimStart().length);
    if (scanner.unread !== "" || scanner.endedBy !== undefined) return;
    yield;
  }
}

/** The next non-whitespace character, not consumed; empty at the end of the text. */
export function* peekAfterWhitespace(scanner: Scanner): ParserSteps<string> {
  while (scanner.unread.trimStart() === "" && scanner.endedBy === undefined) yield;
  return scanner.unread.trimStart().charAt(0);
}

/** The next character, not consumed; empty at the end of the text. */
export function* peek(scanner: Scanner): ParserSteps<string> {
  while (scanner.unread === "" && scanner.endedBy === undefined) yield;
  return scanner.unread.charAt(0);
}

/** Passes on all remaining text as it arrives. */
export function* readToEnd(scanner: Scanner, onChunk: (chunk: TextChunk) => void): ParserSteps {
  yield* readUntil(scanner, { markers: [] }, onChunk);
}
