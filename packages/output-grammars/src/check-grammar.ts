import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { Expression, Grammar } from "./grammar.ts";
import { namesIn } from "./prune-grammar.ts";
import { readGrammar } from "./read-grammar.ts";

const longestGrammar = 1_000_000;
const mostRules = 10_000;
/** What llama.cpp makes of it, counted in characters and rule names after repetitions are written out. */
const mostElements = 1_000_000;

/** Refuses a grammar that llama.cpp could not take, would loop on, or would need too much memory for. */
export function checkGrammar(source: string): Grammar {
  if (source.length > longestGrammar) throw refuse(`it has more than ${longestGrammar} characters`);
  const grammar = readGrammar(source);
  if (!grammar.has("root")) throw refuse('the rule "root" is not defined');
  if (grammar.size > mostRules) throw refuse(`it has more than ${mostRules} rules`);
  const undefinedName = [...grammar.values()].flatMap(namesIn).find((name) => !grammar.has(name));
  if (undefinedName !== undefined) throw refuse(`the rule "${undefinedName}" is not defined`);
  const elements = [...grammar.values()].reduce((sum, expression) => sum + countElements(expression), 0);
  if (elements > mostElements) throw refuse(`its repetitions write out more than ${mostElements} elements`);
  refuseLeftRecursion(grammar);
  return grammar;
}

function refuse(reason: string): FailureError<EngineFailure> {
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
      return expression.parts.reduce((sum, part) => sum + countElements(part), 1);
    case "choice":
      return expression.options.reduce((sum, option) => sum + countElements(option), 1);
    case "repeat": {
      const { part, least, most } = expression;
      const times = Number.isFinite(most) ? most : least + 1;
      // A group becomes a rule and is repeated by name; a literal is copied whole.
      const isGroup = part.kind === "choice" || part.kind === "sequence";
      return isGroup ? countElements(part) + times * 2 : (countElements(part) + 2) * times;
    }
  }
}

/** llama.cpp would follow such rules for ever before reading a character. */
function refuseLeftRecursion(grammar: Grammar): void {
  const empty = findEmptyRules(grammar);
  const leading = new Map(
    [...grammar].map(([name, expression]) => [name, new Set(leadingNames(expression, empty))]),
  );
  const done = new Set<string>();
  for (const start of grammar.keys()) {
    const path: string[] = [];
    const waiting: { readonly name: string; readonly depth: number }[] = [{ name: start, depth: 0 }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const finished = path.splice(next.depth);
      for (const name of finished) done.add(name);
      if (path.includes(next.name)) {
        const circle = [...path.slice(path.indexOf(next.name)), next.name];
        throw refuse(`left recursion: ${circle.map((name) => `"${name}"`).join(" begins with ")}`);
      }
      if (done.has(next.name)) continue;
      path.push(next.name);
      const depth = path.length;
      waiting.push(...[...(leading.get(next.name) ?? [])].map((name) => ({ name, depth })));
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
      return expression.parts.every((part) => canBeEmpty(part, empty));
    case "choice":
      return expression.options.some((option) => canBeEmpty(option, empty));
    case "repeat":
      return expression.least === 0 || canBeEmpty(expression.part, empty);
  }
}

/** The rules that can stand at the very beginning of what an expression writes. */
function leadingNames(expression: Expression, empty: ReadonlySet<string>): string[] {
  switch (expression.kind) {
    case "text":
    case "characters":
      return [];
    case "rule":
      return [expression.name];
    case "sequence": {
      const end = expression.parts.findIndex((part) => !canBeEmpty(part, empty));
      const leading = end === -1 ? expression.parts : expression.parts.slice(0, end + 1);
      return leading.flatMap((part) => leadingNames(part, empty));
    }
    case "choice":
      return expression.options.flatMap((option) => leadingNames(option, empty));
    case "repeat":
      if (expression.most === Number.POSITIVE_INFINITY && canBeEmpty(expression.part, empty)) {
        throw refuse("left recursion: it repeats without end what may be empty");
      }
      return leadingNames(expression.part, empty);
  }
}
