import type { Expression, Grammar } from "./grammar.ts";

/**
 * The expressions still to match, the next one on top. Equal stacks are the same object, so that a set contains each
 * once.
 */
export type Stack = {
  /** Undefined when everything has been matched. */
  readonly expression: Expression | undefined;
  readonly below: Stack | undefined;
  readonly above: Map<Expression, Stack>;
};

export type Stacks = ReadonlySet<Stack>;

/** Thrown when more stacks than allowed have to be followed at once. */
export class TooManyStacksError extends Error {}

/** Follows all alternatives of a grammar in parallel, character by character, as llama.cpp does. */
export class StackParser {
  /** How many stacks have been created or unfolded so far, as a measure of the work. */
  followed = 0;
  readonly end: Stack = { expression: undefined, below: undefined, above: new Map() };
  readonly #unfold: Unfold;
  readonly #maxStacks: number;

  constructor(grammar: Grammar, maxStacks: number = Number.POSITIVE_INFINITY) {
    this.#unfold = createUnfold(grammar);
    this.#maxStacks = maxStacks;
  }

  /** The stacks at the start of a rule, each with a character on top. */
  start(name = "root"): Stacks {
    return this.#unfoldAll([push({ kind: "rule", name }, this.end)]);
  }

  advance(stacks: Stacks, code: number): Stacks {
    const next = [...stacks].flatMap(({ expression, below }) =>
      below !== undefined && expression?.kind === "characters" && has(expression, code) ? [below] : [],
    );
    return this.#unfoldAll(next);
  }

  /** The stacks with a character on top, and the empty stack. */
  #unfoldAll(stacks: readonly Stack[]): Stacks {
    const seen = new Set(stacks);
    const ready = new Set<Stack>();
    for (const stack of seen) {
      const { expression, below } = stack;
      if (expression === undefined || below === undefined || expression.kind === "characters")
        ready.add(stack);
      else for (const next of this.#unfold(expression, below)) seen.add(next);
      if (seen.size > this.#maxStacks) throw new TooManyStacksError();
    }
    this.followed += seen.size;
    return ready;
  }
}

function push(expression: Expression, below: Stack): Stack {
  const stack = below.above.get(expression) ?? { expression, below, above: new Map() };
  below.above.set(expression, stack);
  return stack;
}

function has({ set }: Expression & { kind: "characters" }, code: number): boolean {
  return set.some(([first, last]) => first <= code && code <= last);
}

type Unfold = (expression: Expression, below: Stack) => readonly Stack[];

function createUnfold(grammar: Grammar): Unfold {
  const characters = new Map<Expression, readonly Expression[]>();
  const shorter = new Map<Expression, Expression>();
  return (expression, below) => {
    switch (expression.kind) {
      case "characters":
        return [];
      case "text": {
        const elements = characters.get(expression) ?? Array.from(expression.text, oneCharacter);
        characters.set(expression, elements);
        return [pushAll(elements, below)];
      }
      case "sequence":
        return [pushAll(expression.elements, below)];
      case "choice":
        return expression.options.map((option) => push(option, below));
      case "rule": {
        const named = grammar.get(expression.name);
        return named === undefined ? [] : [push(named, below)];
      }
      case "repeat": {
        const { element, min, max } = expression;
        const rest = shorter.get(expression) ?? decrement(expression);
        shorter.set(expression, rest);
        return [...(min === 0 ? [below] : []), ...(max === 0 ? [] : [push(element, push(rest, below))])];
      }
    }
  };
}

function pushAll(elements: readonly Expression[], below: Stack): Stack {
  return elements.reduceRight((stack, element) => push(element, stack), below);
}

function oneCharacter(character: string): Expression {
  const code = character.codePointAt(0) ?? 0;
  return { kind: "characters", set: [[code, code]] };
}

function decrement(expression: Expression & { kind: "repeat" }): Expression {
  const { min, max } = expression;
  if (min === 0 && max === Number.POSITIVE_INFINITY) return expression;
  return { ...expression, min: Math.max(min - 1, 0), max: max - 1 };
}
