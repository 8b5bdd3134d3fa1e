import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type CharacterRange, type CharacterSet, complementSet, joinSets } from "./automata/character-set.ts";

/** The source of a grammar and the index of the next character. */
export type GrammarCursor = { readonly source: string; next: number };

const shortEscapes = new Map(
  Object.entries({ t: "\t", r: "\r", n: "\n", "\\": "\\", '"': '"', "[": "[", "]": "]" }),
);

/** Reads a literal after its opening quote up to and including the closing one. */
export function readLiteral(cursor: GrammarCursor): string {
  const codes: number[] = [];
  while (cursor.source[cursor.next] !== '"') codes.push(readCharacter(cursor));
  cursor.next += 1;
  return String.fromCodePoint(...codes);
}

/** Reads a class after its "[" up to and including "]". */
export function readSet(cursor: GrammarCursor): CharacterSet {
  const isNegated = cursor.source[cursor.next] === "^";
  if (isNegated) cursor.next += 1;
  const ranges: CharacterRange[] = [];
  while (cursor.source[cursor.next] !== "]") {
    const first = readCharacter(cursor);
    const isRange = cursor.source[cursor.next] === "-" && cursor.source[cursor.next + 1] !== "]";
    if (isRange) cursor.next += 1;
    const last = isRange ? readCharacter(cursor) : first;
    if (last < first) throw invalidGrammar("a range in a character class is out of order");
    ranges.push([first, last]);
  }
  cursor.next += 1;
  if (ranges.length === 0) throw invalidGrammar("a character class is empty");
  const set = joinSets(ranges);
  return isNegated ? complementSet(set) : set;
}

function readCharacter(cursor: GrammarCursor): number {
  const code = cursor.source.codePointAt(cursor.next);
  if (code === undefined || code === 0x0a) throw invalidGrammar("unclosed literal or character class");
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
  if (!isHexadecimal || code > 0x10ffff || code === 0)
    throw invalidGrammar(`"\\${letter}${digits}" is not a character`);
  cursor.next += length;
  return code;
}

function invalidGrammar(reason: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "grammar-invalid", reason });
}
