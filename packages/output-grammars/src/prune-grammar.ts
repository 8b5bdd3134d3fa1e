import { type Expression, type Grammar, never, nothing } from "./grammar.ts";

/**
 * Removes unproductive expressions, e.g. a required field that requires itself recursively, and then unreferenced rules.
 * Undefined if the root itself is unproductive.
 */
export function pruneGrammar(grammar: Grammar): Grammar | undefined {
  const productive = findProductive(grammar);
  if (!productive.has("root")) return undefined;
  const kept = new Map<string, Expression>();
  const queue = ["root"];
  for (const name of queue) {
    const expression = grammar.get(name);
    if (kept.has(name) || expression === undefined) continue;
    const pruned = prune(expression, productive);
    kept.set(name, pruned);
    queue.push(...namesIn(pruned));
  }
  return kept;
}

function findProductive(grammar: Grammar): ReadonlySet<string> {
  const users = new Map<string, string[]>();
  for (const [name, expression] of grammar) {
    for (const used of namesIn(expression)) users.set(used, [...(users.get(used) ?? []), name]);
  }
  const productive = new Set<string>();
  const queue = new Set(grammar.keys());
  for (const name of queue) {
    queue.delete(name);
    const expression = grammar.get(name);
    if (productive.has(name) || expression === undefined || !isProductive(expression, productive)) continue;
    productive.add(name);
    for (const user of users.get(name) ?? []) queue.add(user);
  }
  return productive;
}

function isProductive(expression: Expression, productive: ReadonlySet<string>): boolean {
  switch (expression.kind) {
    case "text":
      return true;
    case "characters":
      return expression.set.length > 0;
    case "sequence":
      return expression.elements.every((element) => isProductive(element, productive));
    case "choice":
      return expression.options.some((option) => isProductive(option, productive));
    case "repeat":
      return expression.min === 0 || isProductive(expression.element, productive);
    case "rule":
      return productive.has(expression.name);
  }
}

function prune(expression: Expression, productive: ReadonlySet<string>): Expression {
  if (!isProductive(expression, productive)) return never;
  switch (expression.kind) {
    case "text":
    case "characters":
    case "rule":
      return expression;
    case "sequence":
      return { kind: "sequence", elements: expression.elements.map((element) => prune(element, productive)) };
    case "choice": {
      const options = expression.options.filter((option) => isProductive(option, productive));
      return { kind: "choice", options: options.map((option) => prune(option, productive)) };
    }
    case "repeat":
      return isProductive(expression.element, productive)
        ? { ...expression, element: prune(expression.element, productive) }
        : nothing;
  }
}

export function namesIn(expression: Expression): string[] {
  switch (expression.kind) {
    case "text":
    case "characters":
      return [];
    case "rule":
      return [expression.name];
    case "sequence":
      return expression.elements.flatMap(namesIn);
    case "choice":
      return expression.options.flatMap(namesIn);
    case "repeat":
      return namesIn(expression.element);
  }
}
