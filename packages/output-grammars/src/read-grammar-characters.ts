import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type CharacterRange, type CharacterSet, complementSet, joinSets } from "./automata/character-set.ts";

/** Where reading stands in the text of a grammar. */
export type GrammarCursor = { readonly source: string; next: number };

const shortEscapes = new Map(
  Object.entries({ t: "\t", r: "\r", n: "\n", "\\": "\\", '"': '"', "[": "[", "]": "]" }),
);

/** Reads what follows a quotation mark up to the next. */
export function readLiteral(cursor: GrammarCursor): string {
  const codes: number[] = [];
  while (cursor.source[cursor.next] !== '"') codes.push(readCharacter(cursor));
  cursor.next += 1;
  return String.fromCodePoint(...codes);
}

/** Reads what follows a "[" up to its "]". */
export function readSet(cursor: GrammarCursor): CharacterSet {
  const isNegated = cursor.source[cursor.next] === "^";
  if (isNegated) cursor.next += 1;
  const ranges: CharacterRange[] = [];
  while (cursor.source[cursor.next] !== "]") {
    const first = readCharacter(cursor);
    const isRange = cursor.source[cursor.next] === "-" && cursor.source[cursor.next + 1] !== "]";
    if (isRange) cursor.next += 1;
    const last = isRange ? readCharacter(cursor) : first;
    if (last < first) throw refuse("a range in a class runs backwards");
    ranges.push([first, last]);
  }
  cursor.next += 1;
  if (ranges.length === 0) throw refuse("a class has no characters");
  const set = joinSets(ranges);
  return isNegated ? complementSet(set) : set;
}

function readCharacter(cursor: GrammarCursor): number {
  const code = cursor.source.codePointAt(cursor.next);
  if (code === undefined || code === 0x0a) throw refuse("a literal or class is not closed");
  cursor.next += code > 0xffff ? 2 : 1;
  return code === 0x5c ? readEscape(cursor) : code;
}

function readEscape(cursor: GrammarCursor): number {
  const letter = cursor.source[cursor.next] ?? "";
  cursor.next += 1;
  const short = shortEscapes.get(letter)?.codePointAt(0);
  if (short !== undefined) return short;
  const length = { x: 2, u: 4, U: 8 }[letter] ?? 0;
  const digits = cursor.source.slice(cursor.next, cursor.next + length);
  const code = Number.parseInt(digits, 16);
  const isHexadecimal = length > 0 && digits.length === length && /^[\da-f]+$/iu.test(digits);
  if (!isHexadecimal || code > 0x10ffff || code === 0) throw refuse(`"\\${letter}${digits}" is no character`);
  cursor.next += length;
  return code;
}

function refuse(reason: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "grammar-invalid", reason });
}
