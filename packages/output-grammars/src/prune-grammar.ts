import { type Expression, type Grammar, never, nothing } from "./grammar.ts";

/**
 * Leaves out what no text can be derived from, such as a required field that requires itself without end, and then
 * the rules nobody names. Undefined when nothing is left of the root.
 */
export function pruneGrammar(grammar: Grammar): Grammar | undefined {
  const productive = findProductive(grammar);
  if (!productive.has("root")) return undefined;
  const kept = new Map<string, Expression>();
  const waiting = ["root"];
  for (const name of waiting) {
    const expression = grammar.get(name);
    if (kept.has(name) || expression === undefined) continue;
    const pruned = prune(expression, productive);
    kept.set(name, pruned);
    waiting.push(...namesIn(pruned));
  }
  return kept;
}

function findProductive(grammar: Grammar): ReadonlySet<string> {
  const users = new Map<string, string[]>();
  for (const [name, expression] of grammar) {
    for (const used of namesIn(expression)) users.set(used, [...(users.get(used) ?? []), name]);
  }
  const productive = new Set<string>();
  const waiting = new Set(grammar.keys());
  for (const name of waiting) {
    waiting.delete(name);
    const expression = grammar.get(name);
    if (productive.has(name) || expression === undefined || !isProductive(expression, productive)) continue;
    productive.add(name);
    for (const user of users.get(name) ?? []) waiting.add(user);
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
      return expression.parts.every((part) => isProductive(part, productive));
    case "choice":
      return expression.options.some((option) => isProductive(option, productive));
    case "repeat":
      return expression.least === 0 || isProductive(expression.part, productive);
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
      return { kind: "sequence", parts: expression.parts.map((part) => prune(part, productive)) };
    case "choice": {
      const options = expression.options.filter((option) => isProductive(option, productive));
      return { kind: "choice", options: options.map((option) => prune(option, productive)) };
    }
    case "repeat":
      return isProductive(expression.part, productive)
        ? { ...expression, part: prune(expression.part, productive) }
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
      return expression.parts.flatMap(namesIn);
    case "choice":
      return expression.options.flatMap(namesIn);
    case "repeat":
      return namesIn(expression.part);
  }
}
