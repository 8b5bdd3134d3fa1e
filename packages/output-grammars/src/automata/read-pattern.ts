import { NotExpressibleError } from "./automaton.ts";
import type { CharacterSet } from "./character-set.ts";
import { type PatternCursor, readAtomEscape, readClass } from "./read-pattern-class.ts";

export type PatternNode =
  | { readonly kind: "characters"; readonly set: CharacterSet }
  | { readonly kind: "sequence"; readonly nodes: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly options: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly node: PatternNode; readonly min: number; readonly max: number }
  | { readonly kind: "edge"; readonly of: "start" | "end" };

const maxPatternLength = 4000;
const maxGroupDepth = 50;

/**
 * Parses an ECMAScript regular expression as JSON Schema defines it: with the `u` flag only.
 * Lookaround, back references, word boundaries and Unicode properties are not supported and rejected.
 */
export function readPattern(source: string): PatternNode {
  if (source.length > maxPatternLength)
    throw new NotExpressibleError(`it is longer than ${maxPatternLength} characters`);
  const cursor: PatternCursor = { characters: Array.from(source), next: 0 };
  const node = readChoice(cursor, 0);
  if (cursor.next < cursor.characters.length) throw new NotExpressibleError('unmatched ")"');
  return node;
}

function readChoice(cursor: PatternCursor, depth: number): PatternNode {
  if (depth > maxGroupDepth)
    throw new NotExpressibleError(`groups are nested more than ${maxGroupDepth} levels deep`);
  const options = [readSequence(cursor, depth)];
  while (cursor.characters[cursor.next] === "|") {
    cursor.next += 1;
    options.push(readSequence(cursor, depth));
  }
  return options.length === 1 && options[0] !== undefined ? options[0] : { kind: "choice", options };
}

function readSequence(cursor: PatternCursor, depth: number): PatternNode {
  const nodes: PatternNode[] = [];
  for (;;) {
    const character = cursor.characters[cursor.next];
    if (character === undefined || character === "|" || character === ")") return { kind: "sequence", nodes };
    const node = readAtom(cursor, depth);
    nodes.push(node.kind === "edge" ? node : readQuantifier(cursor, node));
  }
}

function readAtom(cursor: PatternCursor, depth: number): PatternNode {
  const character = cursor.characters[cursor.next] ?? "";
  cursor.next += 1;
  if (character === "^") return { kind: "edge", of: "start" };
  if (character === "$") return { kind: "edge", of: "end" };
  if (character === "(") return readGroup(cursor, depth);
  if (character === "[") return { kind: "characters", set: readClass(cursor) };
  if ("*+?{".includes(character)) throw new NotExpressibleError(`nothing to repeat before "${character}"`);
  return { kind: "characters", set: readAtomEscape(cursor, character) };
}

function readGroup(cursor: PatternCursor, depth: number): PatternNode {
  const rest = cursor.characters.slice(cursor.next, cursor.next + 60).join("");
  const opening = /^\?(?::|<[A-Za-z_$][\w$]*>)/u.exec(rest)?.[0];
  if (opening === undefined && rest.startsWith("?"))
    throw new NotExpressibleError(`"(${rest.slice(0, 3)}" is not supported`);
  cursor.next += opening?.length ?? 0;
  const node = readChoice(cursor, depth + 1);
  if (cursor.characters[cursor.next] !== ")") throw new NotExpressibleError('unclosed "("');
  cursor.next += 1;
  return node;
}

function readQuantifier(cursor: PatternCursor, node: PatternNode): PatternNode {
  const rest = cursor.characters.slice(cursor.next, cursor.next + 24).join("");
  const found = /^(?:[*+?]|\{(?<min>\d{1,9})(?<comma>,)?(?<max>\d{1,9})?\})\??/u.exec(rest);
  if (found === null) return node;
  // A lazy quantifier matches the same strings, so its "?" changes nothing.
  cursor.next += found[0].length;
  const { min, comma, max } = found.groups ?? {};
  const bounds = {
    min: min === undefined ? Number(rest.startsWith("+")) : Number(min),
    max: maxOf({ symbol: rest.slice(0, 1), min, comma, max }),
  };
  if (bounds.max < bounds.min) throw new NotExpressibleError(`the bounds of "${found[0]}" are out of order`);
  return { kind: "repeat", node, ...bounds };
}

type QuantifierMatch = Readonly<Record<"symbol" | "min" | "comma" | "max", string | undefined>>;

function maxOf({ symbol, min, comma, max }: QuantifierMatch): number {
  if (min === undefined) return symbol === "?" ? 1 : Number.POSITIVE_INFINITY;
  if (max !== undefined) return Number(max);
  return comma === undefined ? Number(min) : Number.POSITIVE_INFINITY;
}
