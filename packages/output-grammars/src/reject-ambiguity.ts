import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { Grammar } from "./grammar.ts";
import { type Stack, StackParser, type Stacks, TooManyStacksError } from "./parse-stacks.ts";
import { namesIn } from "./prune-grammar.ts";

/** llama.cpp compares every token of the vocabulary with every stack, for each token of the output. */
const maxStacks = 1000;
/** Including those that are unfolded further. */
const maxUnfoldedStacks = 20_000;
/** The most ambiguous texts so far, and the characters tried after each. */
const maxTexts = 6;
const maxCharactersPerText = 64;
/** Stacks to follow. A rule gets more while their number keeps growing; the total bounds the check to about a second. */
const budget = { perRule: 10_000, perGrowth: 100, total: 500_000 };
const minGrowth = 1.5;

/**
 * Rejects a grammar for which llama.cpp would have to follow too many alternatives at once: sampling would stall all
 * other requests of the model. Alternatives multiply at the start of a rule or with each level of a recursion, so it
 * tries the texts that most alternatives accept, from each recursive rule on. It can miss texts that are hard to find.
 */
export function rejectAmbiguity(grammar: Grammar): void {
  try {
    const parser = new StackParser(grammar, maxUnfoldedStacks);
    for (const name of grammar.keys()) {
      if (parser.followed < budget.total) requireFew(parser.start(name));
    }
    for (const name of ["root", ...findRecursiveRules(grammar)]) {
      if (parser.followed < budget.total) explore(parser, name);
    }
  } catch (error) {
    if (!(error instanceof TooManyStacksError)) throw error;
    const reason = `it is too ambiguous: more than ${maxStacks} alternatives have to be followed at once`;
    throw new FailureError<EngineFailure>({ kind: "grammar-invalid", reason }, { cause: error });
  }
}

function explore(parser: StackParser, name: string): void {
  const identify = createIdentities();
  const seen = new Set<string>();
  let states: readonly Stacks[] = [parser.start(name)];
  let limit = parser.followed + budget.perRule;
  let largest = 1;
  while (states.length > 0 && parser.followed < limit) {
    const next = states.flatMap((stacks) =>
      mostAcceptedCharacters(stacks).map((code) => requireFew(parser.advance(stacks, code))),
    );
    const unseen = next.filter((stacks) => {
      const identity = identify(stacks);
      return !seen.has(identity) && seen.add(identity);
    });
    states = unseen.toSorted((one, other) => other.size - one.size).slice(0, maxTexts);
    const size = states[0]?.size ?? 0;
    if (size >= largest * minGrowth) {
      largest = size;
      limit = Math.max(limit, parser.followed + size * budget.perGrowth);
    }
  }
}

function requireFew(stacks: Stacks): Stacks {
  if (stacks.size > maxStacks) throw new TooManyStacksError();
  return stacks;
}

/** The same text for the same set of stacks. */
function createIdentities(): (stacks: Stacks) => string {
  const numbers = new Map<Stack, number>();
  return (stacks) =>
    [...stacks]
      .map((stack) => {
        const number = numbers.get(stack) ?? numbers.size;
        numbers.set(stack, number);
        return number;
      })
      .toSorted((one, other) => one - other)
      .join();
}

/** Those that the largest numbers of stacks accept. */
function mostAcceptedCharacters(stacks: Stacks): readonly number[] {
  const changes = new Map<number, number>();
  for (const { expression } of stacks) {
    if (expression?.kind !== "characters") continue;
    for (const [first, last] of expression.set) {
      changes.set(first, (changes.get(first) ?? 0) + 1);
      changes.set(last + 1, (changes.get(last + 1) ?? 0) - 1);
    }
  }
  let accepting = 0;
  const counted = [...changes]
    .toSorted(([one], [other]) => one - other)
    .map(([code, change]) => ({ code, accepting: (accepting += change) }));
  return counted
    .filter((each) => each.accepting > 0)
    .toSorted((one, other) => other.accepting - one.accepting)
    .slice(0, maxCharactersPerText)
    .map(({ code }) => code);
}

/** All rules that refer to themselves, directly or through others, and those between two of them. */
function findRecursiveRules(grammar: Grammar): readonly string[] {
  const uses = new Map([...grammar].map(([name, expression]) => [name, new Set(namesIn(expression))]));
  for (let before = -1; before !== uses.size; ) {
    before = uses.size;
    for (const [name, used] of uses) if (![...used].some((each) => uses.has(each))) uses.delete(name);
  }
  const users = new Set([...uses.values()].flatMap((used) => [...used]));
  return [...uses.keys()].filter((name) => users.has(name));
}
