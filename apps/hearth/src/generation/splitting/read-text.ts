import type { Piece, Scanner, Steps } from "./scanner.ts";

export type MarkedText = {
  readonly markers: readonly string[];
  /** Whether white space right before a marker is dropped with it. */
  readonly dropsSpaceBefore?: boolean;
  /** Whether white space at the end of all text is dropped too. */
  readonly dropsSpaceAtEnd?: boolean;
  /**
   * What becomes of a held beginning of a marker when the text ends. `keep`: it was text after all.
   * `drop-when-cut`: only if the answer was cut off by its limit, because then it most likely was a marker.
   */
  readonly heldAtEnd?: "keep" | "drop-when-cut";
};

/**
 * Hands on text until the earliest marker, which is left unread and returned; undefined at the end of the text.
 * Where several markers begin at the same place the longest wins, so a shorter one waits while a longer one may
 * still complete.
 */
export function* readUntil(
  scanner: Scanner,
  plan: MarkedText,
  onPiece: (piece: Piece) => void,
): Steps<string | undefined> {
  for (;;) {
    const isEnded = scanner.endedBy !== undefined;
    const { at, marker } = findMarker(scanner.unread, plan.markers, isEnded);
    const before = scanner.unread.slice(0, at);
    const isEndOfText = isEnded && marker === undefined;
    const dropsSpace = isEndOfText ? plan.dropsSpaceAtEnd : plan.dropsSpaceBefore;
    const shown = dropsSpace === true ? before.trimEnd().length : before.length;
    if (shown > 0) onPiece(scanner.take(shown));
    if (marker !== undefined || isEndOfText) {
      scanner.take(at - shown);
      if (isEndOfText) takeHeld(scanner, plan, onPiece);
      return marker;
    }
    yield;
  }
}

/** Everything that is left unread may be the beginning of a marker. */
function takeHeld(scanner: Scanner, plan: MarkedText, onPiece: (piece: Piece) => void): void {
  const held = scanner.take(scanner.unread.length);
  if (held.text === "") return;
  if (plan.heldAtEnd === "drop-when-cut" && scanner.endedBy === "length") return;
  onPiece(held);
}

type Found = { readonly at: number; readonly marker?: string };

/** The first place where a marker stands, or where the text may end in the beginning of one. */
function findMarker(text: string, markers: readonly string[], isEnded: boolean): Found {
  const wholes = markers.map((marker) => placeOfWhole(text, marker));
  const halves = markers.map((marker) => placeOfHalf(text, marker));
  const hasWhole = wholes.some((place) => place !== nowhere);
  // At the end of the text nothing completes any more, so a half marker must not hide a whole one behind it.
  const places = isEnded && hasWhole ? wholes : [...wholes, ...halves];
  const at = Math.min(text.length, ...places);
  const longest = markers
    .filter((_, index) => wholes[index] === at)
    .toSorted((left, right) => right.length - left.length)[0];
  const mayGrow = !isEnded && halves.includes(at);
  return longest === undefined || mayGrow ? { at } : { at, marker: longest };
}

const nowhere = Number.POSITIVE_INFINITY;

function placeOfWhole(text: string, marker: string): number {
  const at = text.indexOf(marker);
  return at === -1 ? nowhere : at;
}

function placeOfHalf(text: string, marker: string): number {
  for (let at = Math.max(0, text.length - marker.length + 1); at < text.length; at += 1) {
    if (marker.startsWith(text.slice(at))) return at;
  }
  return nowhere;
}

/** Reads up to a marker into one string; undefined when the text ends before it. */
export function* collectUntil(scanner: Scanner, markers: readonly string[]): Steps<CollectedText> {
  let text = "";
  const marker = yield* readUntil(scanner, { markers }, (piece) => {
    text += piece.text;
  });
  return { text, marker };
}

export type CollectedText = { readonly text: string; readonly marker: string | undefined };

/** Whether one of the literals comes next, decided as soon as it can be; the longest is returned, unread. */
export function* nextOf(scanner: Scanner, literals: readonly string[]): Steps<string | undefined> {
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

/** Takes the literal if it comes next and tells whether it did; half of one, cut off by the limit, is dropped. */
export function* takeLiteral(scanner: Scanner, literal: string): Steps<boolean> {
  const isNext = (yield* nextOf(scanner, [literal])) !== undefined;
  if (isNext) scanner.take(literal.length);
  else if (scanner.endedBy === "length" && literal.startsWith(scanner.unread)) {
    scanner.take(scanner.unread.length);
  }
  return isNext;
}

export function* skipSpace(scanner: Scanner): Steps {
  for (;;) {
    scanner.take(scanner.unread.length - scanner.unread.trimStart().length);
    if (scanner.unread !== "" || scanner.endedBy !== undefined) return;
    yield;
  }
}

/** The next character that is no white space, taking nothing; empty at the end of the text. */
export function* peekBehindSpace(scanner: Scanner): Steps<string> {
  while (scanner.unread.trimStart() === "" && scanner.endedBy === undefined) yield;
  return scanner.unread.trimStart().charAt(0);
}

/** The next character without taking it; empty at the end of the text. */
export function* peek(scanner: Scanner): Steps<string> {
  while (scanner.unread === "" && scanner.endedBy === undefined) yield;
  return scanner.unread.charAt(0);
}

/** Hands on all text from here to the end, as it comes. */
export function* passOn(scanner: Scanner, onPiece: (piece: Piece) => void): Steps {
  yield* readUntil(scanner, { markers: [] }, onPiece);
}
