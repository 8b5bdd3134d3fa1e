/**
 * @module
 * What the tests of grammars need: a reader that says whether a grammar accepts a text, a generator of schemas with
 * documents that fit them, and a validator. None of them knows how our grammars are made.
 * Imported by the tests of `grammars/` only.
 */
import type { Expression, Grammar } from "../grammar.ts";

/** What is still to be read, the nearest first. Equal stacks are the same object, so that a set keeps each once. */
type Stack = {
  readonly expression: Expression | undefined;
  readonly below: Stack | undefined;
  readonly above: Map<Expression, Stack>;
};

/** Whether the grammar accepts the whole text. It follows all ways at once, character by character. */
export function acceptsText(grammar: Grammar, source: string): boolean {
  const end: Stack = { expression: undefined, below: undefined, above: new Map() };
  const unfold = makeUnfolding(grammar);
  let stacks = unfoldAll([push({ kind: "rule", name: "root" }, end)], unfold);
  for (const character of source) {
    const code = character.codePointAt(0) ?? 0;
    const next = [...stacks].flatMap(({ expression, below }) =>
      below !== undefined && expression?.kind === "characters" && has(expression, code) ? [below] : [],
    );
    stacks = unfoldAll(next, unfold);
  }
  return stacks.has(end);
}

function push(expression: Expression, below: Stack): Stack {
  const known = below.above.get(expression) ?? { expression, below, above: new Map() };
  below.above.set(expression, known);
  return known;
}

function has({ set }: Expression & { kind: "characters" }, code: number): boolean {
  return set.some(([first, last]) => first <= code && code <= last);
}

type Unfold = (expression: Expression, below: Stack) => readonly Stack[];

/** The stacks that have a character on top, and the empty one. */
function unfoldAll(stacks: readonly Stack[], unfold: Unfold): ReadonlySet<Stack> {
  const seen = new Set(stacks);
  const ready = new Set<Stack>();
  for (const stack of seen) {
    const { expression, below } = stack;
    if (expression === undefined || below === undefined || expression.kind === "characters") ready.add(stack);
    else for (const next of unfold(expression, below)) seen.add(next);
  }
  return ready;
}

function makeUnfolding(grammar: Grammar): Unfold {
  const characters = new Map<Expression, readonly Expression[]>();
  const shorter = new Map<Expression, Expression>();
  return (expression, below) => {
    switch (expression.kind) {
      case "characters":
        return [];
      case "text": {
        const parts = characters.get(expression) ?? Array.from(expression.text, oneCharacter);
        characters.set(expression, parts);
        return [pushAll(parts, below)];
      }
      case "sequence":
        return [pushAll(expression.parts, below)];
      case "choice":
        return expression.options.map((option) => push(option, below));
      case "rule": {
        const named = grammar.get(expression.name);
        return named === undefined ? [] : [push(named, below)];
      }
      case "repeat": {
        const { part, least, most } = expression;
        const rest = shorter.get(expression) ?? oneFewer(expression);
        shorter.set(expression, rest);
        return [...(least === 0 ? [below] : []), ...(most === 0 ? [] : [push(part, push(rest, below))])];
      }
    }
  };
}

function pushAll(parts: readonly Expression[], below: Stack): Stack {
  return parts.reduceRight((stack, part) => push(part, stack), below);
}

function oneCharacter(character: string): Expression {
  const code = character.codePointAt(0) ?? 0;
  return { kind: "characters", set: [[code, code]] };
}

function oneFewer(expression: Expression & { kind: "repeat" }): Expression {
  const { least, most } = expression;
  if (least === 0 && most === Number.POSITIVE_INFINITY) return expression;
  return { ...expression, least: Math.max(least - 1, 0), most: most - 1 };
}
