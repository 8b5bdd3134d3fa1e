import type { CharacterSet } from "./automata/character-set.ts";
import type { Expression, Grammar } from "./grammar.ts";

/** Prints a grammar as GBNF, one rule per line. */
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
      const [only] = expression.elements;
      if (only === undefined) return '""';
      if (expression.elements.length === 1) return print(only, inside);
      const elements = expression.elements.map((element) => print(element, "sequence")).join(" ");
      return inside === "repeat" ? `(${elements})` : elements;
    }
    case "choice": {
      const options = expression.options.map((option) => print(option, "rule")).join(" | ");
      return inside === "rule" ? options : `(${options})`;
    }
    case "repeat":
      return printRepeat(expression, inside);
  }
}

function printRepeat({ element, min, max }: Expression & { kind: "repeat" }, inside: Inside): string {
  if (max === 0) return '""';
  if (min === 1 && max === 1) return print(element, inside);
  // llama.cpp repeats only the last character of a literal unless it is in parentheses.
  const isLong = element.kind === "text" && Array.from(element.text).length !== 1;
  const isRepeated = element.kind === "repeat";
  const printed = isLong || isRepeated ? `(${print(element, "rule")})` : print(element, "repeat");
  const repeated = printed + printCount(min, max);
  return inside === "repeat" ? `(${repeated})` : repeated;
}

function printCount(min: number, max: number): string {
  if (min === 0 && max === 1) return "?";
  if (max === Number.POSITIVE_INFINITY) return ["*", "+"][min] ?? `{${min},}`;
  return min === max ? `{${min}}` : `{${min},${max}}`;
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

/** Letters and safe punctuation are printed unchanged, everything else by its code point. */
function printCharacter(code: number): string {
  const character = String.fromCodePoint(code);
  if (/^[A-Za-z0-9 _:,.;/{}()<>=+*?!@#$%&|~`']$/u.test(character)) return character;
  if (character === '"' || character === "\\") return `\\${character}`;
  if (character === "\n") return "\\n";
  const digits = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${digits.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
