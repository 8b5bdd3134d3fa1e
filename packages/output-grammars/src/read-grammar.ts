import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { anyCharacter } from "./automata/character-set.ts";
import type { Expression, Grammar } from "./grammar.ts";
import { type GrammarCursor, readLiteral, readSet } from "./read-grammar-characters.ts";

const maxGroupDepth = 100;
const maxRepetitions = 2000;

/** Parses GBNF as llama.cpp does, but rejects ambiguous input: rules defined twice and quantifiers on quantifiers. */
export function readGrammar(source: string): Grammar {
  const cursor: GrammarCursor = { source, next: 0 };
  const rules = new Map<string, Expression>();
  skipSpace(cursor, true);
  while (cursor.next < source.length) {
    const name = readName(cursor);
    if (name === "") throw invalid(cursor, "expected the name of a rule");
    if (rules.has(name)) throw invalid(cursor, `the rule "${name}" is defined twice`);
    skipSpace(cursor, false);
    if (!consume(cursor, "::=")) throw invalid(cursor, `expected "::=" after "${name}"`);
    skipSpace(cursor, true);
    rules.set(name, readChoice(cursor, 0));
    if (cursor.next < source.length && !/[\r\n]/u.test(source[cursor.next] ?? "")) {
      throw invalid(cursor, `unexpected "${source[cursor.next]}"`);
    }
    skipSpace(cursor, true);
  }
  return rules;
}

function invalid(cursor: GrammarCursor, message: string): FailureError<EngineFailure> {
  const line = cursor.source.slice(0, cursor.next).split("\n").length;
  return new FailureError<EngineFailure>({ kind: "grammar-invalid", reason: `line ${line}: ${message}` });
}

function skipSpace(cursor: GrammarCursor, overLines: boolean): void {
  const pattern = overLines ? /(?:\s|#[^\r\n]*)*/uy : /(?:[ \t]|#[^\r\n]*)*/uy;
  pattern.lastIndex = cursor.next;
  cursor.next += pattern.exec(cursor.source)?.[0].length ?? 0;
}

function readName(cursor: GrammarCursor): string {
  const pattern = /[A-Za-z0-9-]{1,200}/uy;
  pattern.lastIndex = cursor.next;
  const name = pattern.exec(cursor.source)?.[0] ?? "";
  cursor.next += name.length;
  return name;
}

function consume(cursor: GrammarCursor, symbol: string): boolean {
  const isNext = cursor.source.startsWith(symbol, cursor.next);
  if (isNext) cursor.next += symbol.length;
  return isNext;
}

function readChoice(cursor: GrammarCursor, depth: number): Expression {
  if (depth > maxGroupDepth)
    throw invalid(cursor, `groups are nested more than ${maxGroupDepth} levels deep`);
  const options = [readSequence(cursor, depth)];
  while (consume(cursor, "|")) {
    skipSpace(cursor, true);
    options.push(readSequence(cursor, depth));
  }
  return { kind: "choice", options };
}

function readSequence(cursor: GrammarCursor, depth: number): Expression {
  const elements: Expression[] = [];
  for (;;) {
    const element = readElement(cursor, depth);
    if (element === undefined) return { kind: "sequence", elements };
    const repeated = readQuantifier(cursor, element);
    if (repeated !== element && readQuantifier(cursor, element) !== element) {
      throw invalid(cursor, "a repetition is repeated without parentheses");
    }
    elements.push(repeated);
    skipSpace(cursor, depth > 0);
  }
}

function readElement(cursor: GrammarCursor, depth: number): Expression | undefined {
  if (consume(cursor, '"')) return { kind: "text", text: readLiteral(cursor) };
  if (consume(cursor, "[")) return { kind: "characters", set: readSet(cursor) };
  if (consume(cursor, ".")) return { kind: "characters", set: anyCharacter };
  if (consume(cursor, "(")) {
    skipSpace(cursor, true);
    const group = readChoice(cursor, depth + 1);
    if (!consume(cursor, ")")) throw invalid(cursor, 'expected ")"');
    return group;
  }
  const name = readName(cursor);
  return name === "" ? undefined : { kind: "rule", name };
}

function readQuantifier(cursor: GrammarCursor, element: Expression): Expression {
  const pattern = /[*+?]|\{\s*(?<min>\d{1,9})\s*(?<comma>,)?\s*(?<max>\d{1,9})?\s*\}/uy;
  pattern.lastIndex = cursor.next;
  const found = pattern.exec(cursor.source);
  if (found === null) {
    if (cursor.source[cursor.next] === "{") throw invalid(cursor, 'invalid repetition count after "{"');
    return element;
  }
  cursor.next += found[0].length;
  const { min, comma, max } = found.groups ?? {};
  if (min === undefined) {
    const isOnce = found[0] === "?";
    return {
      kind: "repeat",
      element,
      min: Number(found[0] === "+"),
      max: isOnce ? 1 : Number.POSITIVE_INFINITY,
    };
  }
  const unlimited = comma === undefined ? Number(min) : Number.POSITIVE_INFINITY;
  const bounds = { min: Number(min), max: max === undefined ? unlimited : Number(max) };
  const largest = Number.isFinite(bounds.max) ? bounds.max : bounds.min;
  if (bounds.max < bounds.min) throw invalid(cursor, `the bounds of "${found[0]}" are out of order`);
  if (largest >= maxRepetitions) throw invalid(cursor, `more than ${maxRepetitions - 1} repetitions`);
  return { kind: "repeat", element, ...bounds };
}
