import { CannotExpressError } from "./automaton.ts";
import type { CharacterSet } from "./character-set.ts";
import { type PatternCursor, readAtomEscape, readClass } from "./read-pattern-class.ts";

export type PatternNode =
  | { readonly kind: "characters"; readonly set: CharacterSet }
  | { readonly kind: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly options: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly part: PatternNode; readonly least: number; readonly most: number }
  | { readonly kind: "edge"; readonly of: "start" | "end" };

const longestPattern = 4000;
const deepestGroup = 50;

/**
 * Reads a regular expression of ECMAScript as JSON Schema means it: with the `u` flag and without others.
 * Lookaround, back references, word boundaries and Unicode properties have no grammar and are refused.
 */
export function readPattern(source: string): PatternNode {
  if (source.length > longestPattern)
    throw new CannotExpressError(`it is longer than ${longestPattern} characters`);
  const cursor: PatternCursor = { characters: Array.from(source), next: 0 };
  const node = readChoice(cursor, 0);
  if (cursor.next < cursor.characters.length) throw new CannotExpressError('a ")" closes nothing');
  return node;
}

function readChoice(cursor: PatternCursor, depth: number): PatternNode {
  if (depth > deepestGroup)
    throw new CannotExpressError(`groups are nested deeper than ${deepestGroup} times`);
  const options = [readSequence(cursor, depth)];
  while (cursor.characters[cursor.next] === "|") {
    cursor.next += 1;
    options.push(readSequence(cursor, depth));
  }
  return options.length === 1 && options[0] !== undefined ? options[0] : { kind: "choice", options };
}

function readSequence(cursor: PatternCursor, depth: number): PatternNode {
  const parts: PatternNode[] = [];
  for (;;) {
    const character = cursor.characters[cursor.next];
    if (character === undefined || character === "|" || character === ")") return { kind: "sequence", parts };
    const part = readAtom(cursor, depth);
    parts.push(part.kind === "edge" ? part : readQuantifier(cursor, part));
  }
}

function readAtom(cursor: PatternCursor, depth: number): PatternNode {
  const character = cursor.characters[cursor.next] ?? "";
  cursor.next += 1;
  if (character === "^") return { kind: "edge", of: "start" };
  if (character === "$") return { kind: "edge", of: "end" };
  if (character === "(") return readGroup(cursor, depth);
  if (character === "[") return { kind: "characters", set: readClass(cursor) };
  if ("*+?{".includes(character)) throw new CannotExpressError(`"${character}" repeats nothing`);
  return { kind: "characters", set: readAtomEscape(cursor, character) };
}

function readGroup(cursor: PatternCursor, depth: number): PatternNode {
  const rest = cursor.characters.slice(cursor.next, cursor.next + 60).join("");
  const opening = /^\?(?::|<[A-Za-z_$][\w$]*>)/u.exec(rest)?.[0];
  if (opening === undefined && rest.startsWith("?"))
    throw new CannotExpressError(`"(${rest.slice(0, 3)}" has no grammar`);
  cursor.next += opening?.length ?? 0;
  const node = readChoice(cursor, depth + 1);
  if (cursor.characters[cursor.next] !== ")") throw new CannotExpressError('a "(" is not closed');
  cursor.next += 1;
  return node;
}

function readQuantifier(cursor: PatternCursor, part: PatternNode): PatternNode {
  const rest = cursor.characters.slice(cursor.next, cursor.next + 24).join("");
  const found = /^(?:[*+?]|\{(?<least>\d{1,9})(?<comma>,)?(?<most>\d{1,9})?\})\??/u.exec(rest);
  if (found === null) return part;
  // A lazy quantifier matches the same texts, so its "?" changes nothing.
  cursor.next += found[0].length;
  const { least, comma, most } = found.groups ?? {};
  const bounds = {
    least: least === undefined ? Number(rest.startsWith("+")) : Number(least),
    most: mostOf({ sign: rest.slice(0, 1), least, comma, most }),
  };
  if (bounds.most < bounds.least) throw new CannotExpressError(`"${found[0]}" counts downwards`);
  return { kind: "repeat", part, ...bounds };
}

type Written = Readonly<Record<"sign" | "least" | "comma" | "most", string | undefined>>;

function mostOf({ sign, least, comma, most }: Written): number {
  if (least === undefined) return sign === "?" ? 1 : Number.POSITIVE_INFINITY;
  if (most !== undefined) return Number(most);
  return comma === undefined ? Number(least) : Number.POSITIVE_INFINITY;
}
