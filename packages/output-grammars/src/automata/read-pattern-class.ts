import { NotExpressibleError } from "./automaton.ts";
import { type CharacterSet, complementSet, joinSets, setOf } from "./character-set.ts";

/** The characters of a pattern and the index of the next one. */
export type PatternCursor = { readonly characters: readonly string[]; next: number };

const digits: CharacterSet = [[0x30, 0x39]];
const wordCharacters = joinSets(digits, [[0x41, 0x5a]], setOf("_"), [[0x61, 0x7a]]);
const lineEnds = setOf("\n\r\u2028\u2029");
const spaces = joinSets(setOf("\t\v\f \u00a0\u1680\u202f\u205f\u3000\ufeff"), lineEnds, [[0x2000, 0x200a]]);
const namedSets = new Map<string, CharacterSet>([
  ["d", digits],
  ["D", complementSet(digits)],
  ["w", wordCharacters],
  ["W", complementSet(wordCharacters)],
  ["s", spaces],
  ["S", complementSet(spaces)],
]);
const controls = new Map(Object.entries({ t: "\t", n: "\n", r: "\r", f: "\f", v: "\v", "0": "\0" }));

/** The characters matched by an atom outside a class. */
export function readAtomEscape(cursor: PatternCursor, character: string): CharacterSet {
  if (character === ".") return complementSet(lineEnds);
  if (character !== "\\") return setOf(character);
  return readEscape(cursor);
}

/** Reads a class after its "[" up to and including "]". */
export function readClass(cursor: PatternCursor): CharacterSet {
  const isNegated = cursor.characters[cursor.next] === "^";
  if (isNegated) cursor.next += 1;
  const sets: CharacterSet[] = [];
  while (cursor.characters[cursor.next] !== "]") {
    const first = readMember(cursor);
    if (cursor.characters[cursor.next] !== "-" || cursor.characters[cursor.next + 1] === "]") {
      sets.push(first);
      continue;
    }
    cursor.next += 1;
    sets.push([[singleCharacter(first), singleCharacter(readMember(cursor))]]);
    const [[from, to] = [0, 0]] = sets.at(-1) ?? [];
    if (from > to) throw new NotExpressibleError("a range in a character class is out of order");
  }
  cursor.next += 1;
  const joined = joinSets(...sets);
  return isNegated ? complementSet(joined) : joined;
}

function readMember(cursor: PatternCursor): CharacterSet {
  const character = cursor.characters[cursor.next];
  if (character === undefined) throw new NotExpressibleError('unclosed "["');
  cursor.next += 1;
  if (character !== "\\") return setOf(character);
  if (cursor.characters[cursor.next] !== "b") return readEscape(cursor);
  cursor.next += 1;
  return setOf("\b");
}

function singleCharacter(set: CharacterSet): number {
  const [range] = set;
  if (set.length !== 1 || range === undefined || range[0] !== range[1])
    throw new NotExpressibleError("a range in a character class has an invalid bound");
  return range[0];
}

function readEscape(cursor: PatternCursor): CharacterSet {
  const letter = cursor.characters[cursor.next] ?? "";
  cursor.next += 1;
  const set = namedSets.get(letter);
  if (set !== undefined) return set;
  const control = controls.get(letter);
  const isOctal = letter === "0" && /\d/u.test(cursor.characters[cursor.next] ?? "");
  if (control !== undefined && !isOctal) return setOf(control);
  if (letter === "x" || letter === "u") return readHexadecimal(cursor, letter);
  if (letter === "" || /[A-Za-z0-9]/u.test(letter))
    throw new NotExpressibleError(`"\\${letter}" is not supported`);
  return setOf(letter);
}

function readHexadecimal(cursor: PatternCursor, letter: string): CharacterSet {
  const rest = cursor.characters.slice(cursor.next, cursor.next + 12).join("");
  const shape = letter === "x" ? /^[\da-f]{2}/iu : /^(?:[\da-f]{4}|\{[\da-f]{1,6}\})/iu;
  const match = shape.exec(rest)?.[0];
  const code = Number.parseInt(match?.replaceAll(/[{}]/gu, "") ?? "", 16);
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  if (match === undefined || isSurrogate || code > 0x10ffff)
    throw new NotExpressibleError(`"\\${letter}${rest.slice(0, 4)}" is not a character`);
  cursor.next += match.length;
  return setOf(String.fromCodePoint(code));
}
