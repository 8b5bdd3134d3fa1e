import type { CharacterSet } from "./automata/character-set.ts";
import type { Expression, Grammar } from "./grammar.ts";

/** Writes a grammar as llama.cpp reads it, one rule a line. */
export function printGrammar(grammar: Grammar): string {
  return [...grammar].map(([name, expression]) => `${name} ::= ${print(expression, "rule")}\n`).join("");
}

type Inside = "rule" | "sequence" | "repeat";

function print(expression: Expression, inside: Inside): string {
  switch (expression.kind) {
    case "rule":
      return expression.name;
    case "text":
      return printText(expression.text);
    case "characters":
      return printSet(expression.set);
    case "sequence": {
      const [only] = expression.parts;
      if (only === undefined) return '""';
      if (expression.parts.length === 1) return print(only, inside);
      const parts = expression.parts.map((part) => print(part, "sequence")).join(" ");
      return inside === "repeat" ? `(${parts})` : parts;
    }
    case "choice": {
      const options = expression.options.map((option) => print(option, "rule")).join(" | ");
      return inside === "rule" ? options : `(${options})`;
    }
    case "repeat":
      return printRepeat(expression, inside);
  }
}

function printRepeat({ part, least, most }: Expression & { kind: "repeat" }, inside: Inside): string {
  if (most === 0) return '""';
  if (least === 1 && most === 1) return print(part, inside);
  // A literal of several characters is one element to llama.cpp only inside parentheses.
  const isLong = part.kind === "text" && Array.from(part.text).length !== 1;
  const isRepeated = part.kind === "repeat";
  const printed = isLong || isRepeated ? `(${print(part, "rule")})` : print(part, "repeat");
  const repeated = printed + printCount(least, most);
  return inside === "repeat" ? `(${repeated})` : repeated;
}

function printCount(least: number, most: number): string {
  if (least === 0 && most === 1) return "?";
  if (most === Number.POSITIVE_INFINITY) return ["*", "+"][least] ?? `{${least},}`;
  return least === most ? `{${least}}` : `{${least},${most}}`;
}

function printText(text: string): string {
  return `"${Array.from(text, (character) => printCharacter(character.codePointAt(0) ?? 0)).join("")}"`;
}

function printSet(set: CharacterSet): string {
  const ranges = set.map(([first, last]) =>
    first === last ? printCharacter(first) : `${printCharacter(first)}-${printCharacter(last)}`,
  );
  return `[${ranges.join("")}]`;
}

/** Letters and the harmless signs as they are; everything else by its number. */
function printCharacter(code: number): string {
  const character = String.fromCodePoint(code);
  if (/^[A-Za-z0-9 _:,.;/{}()<>=+*?!@#$%&|~`']$/u.test(character)) return character;
  if (character === '"' || character === "\\") return `\\${character}`;
  if (character === "\n") return "\\n";
  const digits = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${digits.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
