import { joinSets, setOf } from "./automata/character-set.ts";
import { characters, choice, type Expression, optional, repeat, rule, sequence, text } from "./grammar.ts";

const unlimited = Number.POSITIVE_INFINITY;
const digit = characters([[0x30, 0x39]]);
const nonZero = characters([[0x31, 0x39]]);
const hexadecimal = characters([
  [0x30, 0x39],
  [0x41, 0x46],
  [0x61, 0x66],
]);
const letterD = characters(setOf("Dd"));

/**
 * The characters that appear unescaped in a JSON string. DEL is excluded although JSON allows it, because it is never
 * intended.
 */
export const rawCharacters = joinSets(
  [[0x20, 0x21]],
  [[0x23, 0x5b]],
  [[0x5d, 0x7e]],
  [[0x80, 0xd7ff]],
  [[0xe000, 0x10ffff]],
);

/** At most one space, or one newline with indentation, so that a model cannot generate whitespace forever. */
export const space: Expression = rule("space");
export const jsonString: Expression = rule("json-string");
export const jsonValue: Expression = rule("json-value");

/** A comma-separated list of at least one element. */
export function separated(each: Expression): Expression {
  return sequence(each, repeat(sequence(text(","), space, each), 0, unlimited), space);
}

export function member(key: Expression, value: Expression): Expression {
  return sequence(key, text(":"), optional(text(" ")), value);
}

/** The rules of plain JSON by name. */
export const jsonRules: ReadonlyMap<string, Expression> = new Map([
  ["space", optional(choice(text(" "), sequence(text("\n"), repeat(text(" "), 0, 20))))],
  [
    "json-value",
    choice(
      rule("json-object"),
      rule("json-array"),
      jsonString,
      rule("json-number"),
      rule("json-boolean"),
      text("null"),
    ),
  ],
  ["json-object", sequence(text("{"), space, optional(separated(rule("json-member"))), text("}"))],
  ["json-member", member(jsonString, jsonValue)],
  ["json-array", sequence(text("["), space, optional(separated(jsonValue)), text("]"))],
  ["json-boolean", choice(text("true"), text("false"))],
  ["json-string", sequence(text('"'), repeat(rule("json-character"), 0, unlimited), text('"'))],
  ["json-character", choice(characters(rawCharacters), sequence(text("\\"), rule("json-escape")))],
  // Surrogates come in pairs only, so that every alternative is exactly one character.
  [
    "json-escape",
    choice(
      characters(setOf('"\\/bfnrt')),
      sequence(
        text("u"),
        characters(joinSets([[0x30, 0x39]], setOf("ABCEFabcef"))),
        repeat(hexadecimal, 3, 3),
      ),
      sequence(text("u"), letterD, characters([[0x30, 0x37]]), repeat(hexadecimal, 2, 2)),
      sequence(
        text("u"),
        letterD,
        characters(setOf("89ABab")),
        repeat(hexadecimal, 2, 2),
        text("\\u"),
        letterD,
        characters(setOf("CDEFcdef")),
        repeat(hexadecimal, 2, 2),
      ),
    ),
  ],
  // A two-digit exponent stays within the range of floating-point numbers.
  [
    "json-number",
    sequence(
      optional(text("-")),
      choice(text("0"), sequence(nonZero, repeat(digit, 0, 14))),
      optional(text("."), repeat(digit, 1, 15)),
      optional(characters(setOf("Ee")), optional(characters(setOf("+-"))), repeat(digit, 1, 2)),
    ),
  ],
  ["json-integer", sequence(optional(text("-")), choice(text("0"), sequence(nonZero, repeat(digit, 0, 18))))],
]);
