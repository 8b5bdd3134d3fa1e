import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { anyCharacter } from "./automata/character-set.ts";
import type { Expression, Grammar } from "./grammar.ts";
import { type GrammarCursor, readLiteral, readSet } from "./read-grammar-characters.ts";

const deepestGroup = 100;
const mostRepetitions = 2000;

/** Reads GBNF as llama.cpp does, but refuses what is doubtful there: rules defined twice, quantifiers on quantifiers. */
export function readGrammar(source: string): Grammar {
  const cursor: GrammarCursor = { source, next: 0 };
  const rules = new Map<string, Expression>();
  skipSpace(cursor, true);
  while (cursor.next < source.length) {
    const name = readName(cursor);
    if (name === "") throw invalid(cursor, "expects the name of a rule");
    if (rules.has(name)) throw invalid(cursor, `defines the rule "${name}" twice`);
    skipSpace(cursor, false);
    if (!take(cursor, "::=")) throw invalid(cursor, `expects "::=" after "${name}"`);
    skipSpace(cursor, true);
    rules.set(name, readChoice(cursor, 0));
    if (cursor.next < source.length && !/[\r\n]/u.test(source[cursor.next] ?? "")) {
      throw invalid(cursor, `cannot go on with "${source[cursor.next]}"`);
    }
    skipSpace(cursor, true);
  }
  return rules;
}

function invalid(cursor: GrammarCursor, problem: string): FailureError<EngineFailure> {
  const line = cursor.source.slice(0, cursor.next).split("\n").length;
  return new FailureError<EngineFailure>({ kind: "grammar-invalid", reason: `line ${line} ${problem}` });
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

function take(cursor: GrammarCursor, mark: string): boolean {
  const isNext = cursor.source.startsWith(mark, cursor.next);
  if (isNext) cursor.next += mark.length;
  return isNext;
}

function readChoice(cursor: GrammarCursor, depth: number): Expression {
  if (depth > deepestGroup) throw invalid(cursor, `nests groups deeper than ${deepestGroup} times`);
  const options = [readSequence(cursor, depth)];
  while (take(cursor, "|")) {
    skipSpace(cursor, true);
    options.push(readSequence(cursor, depth));
  }
  return { kind: "choice", options };
}

function readSequence(cursor: GrammarCursor, depth: number): Expression {
  const parts: Expression[] = [];
  for (;;) {
    const part = readElement(cursor, depth);
    if (part === undefined) return { kind: "sequence", parts };
    const repeated = readQuantifier(cursor, part);
    if (repeated !== part && readQuantifier(cursor, part) !== part) {
      throw invalid(cursor, "repeats a repetition without parentheses");
    }
    parts.push(repeated);
    skipSpace(cursor, depth > 0);
  }
}

function readElement(cursor: GrammarCursor, depth: number): Expression | undefined {
  if (take(cursor, '"')) return { kind: "text", text: readLiteral(cursor) };
  if (take(cursor, "[")) return { kind: "characters", set: readSet(cursor) };
  if (take(cursor, ".")) return { kind: "characters", set: anyCharacter };
  if (take(cursor, "(")) {
    skipSpace(cursor, true);
    const group = readChoice(cursor, depth + 1);
    if (!take(cursor, ")")) throw invalid(cursor, 'expects ")"');
    return group;
  }
  const name = readName(cursor);
  return name === "" ? undefined : { kind: "rule", name };
}

function readQuantifier(cursor: GrammarCursor, part: Expression): Expression {
  const pattern = /[*+?]|\{\s*(?<least>\d{1,9})\s*(?<comma>,)?\s*(?<most>\d{1,9})?\s*\}/uy;
  pattern.lastIndex = cursor.next;
  const found = pattern.exec(cursor.source);
  if (found === null) {
    if (cursor.source[cursor.next] === "{") throw invalid(cursor, 'cannot count with "{"');
    return part;
  }
  cursor.next += found[0].length;
  const { least, comma, most } = found.groups ?? {};
  if (least === undefined) {
    const isOnce = found[0] === "?";
    return {
      kind: "repeat",
      part,
      least: Number(found[0] === "+"),
      most: isOnce ? 1 : Number.POSITIVE_INFINITY,
    };
  }
  const unlimited = comma === undefined ? Number(least) : Number.POSITIVE_INFINITY;
  const bounds = { least: Number(least), most: most === undefined ? unlimited : Number(most) };
  const largest = Number.isFinite(bounds.most) ? bounds.most : bounds.least;
  if (bounds.most < bounds.least) throw invalid(cursor, `counts downwards in "${found[0]}"`);
  if (largest >= mostRepetitions) throw invalid(cursor, `repeats more than ${mostRepetitions - 1} times`);
  return { kind: "repeat", part, ...bounds };
}
