import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { Expression, Grammar } from "./grammar.ts";
import { namesIn } from "./prune-grammar.ts";
import { readGrammar } from "./read-grammar.ts";
import { rejectAmbiguity } from "./reject-ambiguity.ts";

const maxGrammarLength = 1_000_000;
const maxRules = 10_000;
/** Elements in llama.cpp's representation: characters and rule references after repetitions are expanded. */
const maxElements = 1_000_000;

/** Rejects a grammar that llama.cpp cannot parse, would loop on, or would need too much memory for. */
export function checkGrammar(source: string): Grammar {
  if (source.length > maxGrammarLength)
    throw invalidGrammar(`it has more than ${maxGrammarLength} characters`);
  const grammar = readGrammar(source);
  if (!grammar.has("root")) throw invalidGrammar('the rule "root" is not defined');
  if (grammar.size > maxRules) throw invalidGrammar(`it has more than ${maxRules} rules`);
  const undefinedName = [...grammar.values()].flatMap(namesIn).find((name) => !grammar.has(name));
  if (undefinedName !== undefined) throw invalidGrammar(`the rule "${undefinedName}" is not defined`);
  const elements = [...grammar.values()].reduce((sum, expression) => sum + countElements(expression), 0);
  if (elements > maxElements)
    throw invalidGrammar(`its repetitions expand to more than ${maxElements} elements`);
  rejectLeftRecursion(grammar);
  rejectAmbiguity(grammar);
  return grammar;
}

function invalidGrammar(reason: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "grammar-invalid", reason });
}

function countElements(expression: Expression): number {
  switch (expression.kind) {
    case "text":
      return expression.text.length;
    case "characters":
      return expression.set.length * 2;
    case "rule":
      return 1;
    case "sequence":
      return expression.elements.reduce((sum, element) => sum + countElements(element), 1);
    case "choice":
      return expression.options.reduce((sum, option) => sum + countElements(option), 1);
    case "repeat": {
      const { element, min, max } = expression;
      const times = Number.isFinite(max) ? max : min + 1;
      // A group becomes a rule and is repeated by reference; a literal is copied completely.
      const isGroup = element.kind === "choice" || element.kind === "sequence";
      return isGroup ? countElements(element) + times * 2 : (countElements(element) + 2) * times;
    }
  }
}

/** llama.cpp would follow left-recursive rules forever without consuming a character. */
function rejectLeftRecursion(grammar: Grammar): void {
  const empty = findEmptyRules(grammar);
  const leading = new Map(
    [...grammar].map(([name, expression]) => [name, new Set(leadingNames(expression, empty))]),
  );
  const done = new Set<string>();
  for (const start of grammar.keys()) {
    const path: string[] = [];
    const stack: { readonly name: string; readonly depth: number }[] = [{ name: start, depth: 0 }];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const finished = path.splice(next.depth);
      for (const name of finished) done.add(name);
      if (path.includes(next.name)) {
        const cycle = [...path.slice(path.indexOf(next.name)), next.name];
        throw invalidGrammar(`left recursion: ${cycle.map((name) => `"${name}"`).join(" starts with ")}`);
      }
      if (done.has(next.name)) continue;
      path.push(next.name);
      const depth = path.length;
      stack.push(...[...(leading.get(next.name) ?? [])].map((name) => ({ name, depth })));
    }
    for (const name of path) done.add(name);
  }
}

function findEmptyRules(grammar: Grammar): ReadonlySet<string> {
  const empty = new Set<string>();
  for (let before = -1; before < empty.size; ) {
    before = empty.size;
    for (const [name, expression] of grammar) if (canBeEmpty(expression, empty)) empty.add(name);
  }
  return empty;
}

function canBeEmpty(expression: Expression, empty: ReadonlySet<string>): boolean {
  switch (expression.kind) {
    case "text":
      return expression.text === "";
    case "characters":
      return false;
    case "rule":
      return empty.has(expression.name);
    case "sequence":
      return expression.elements.every((element) => canBeEmpty(element, empty));
    case "choice":
      return expression.options.some((option) => canBeEmpty(option, empty));
    case "repeat":
      return expression.min === 0 || canBeEmpty(expression.element, empty);
  }
}

/** The rules that an expression can start with. */
function leadingNames(expression: Expression, empty: ReadonlySet<string>): string[] {
  switch (expression.kind) {
    case "text":
    case "characters":
      return [];
    case "rule":
      return [expression.name];
    case "sequence": {
      const end = expression.elements.findIndex((element) => !canBeEmpty(element, empty));
      const leading = end === -1 ? expression.elements : expression.elements.slice(0, end + 1);
      return leading.flatMap((element) => leadingNames(element, empty));
    }
    case "choice":
      return expression.options.flatMap((option) => leadingNames(option, empty));
    case "repeat":
      if (expression.max === Number.POSITIVE_INFINITY && canBeEmpty(expression.element, empty)) {
        throw invalidGrammar("left recursion: it repeats an expression that can be empty");
      }
      return leadingNames(expression.element, empty);
  }
}
