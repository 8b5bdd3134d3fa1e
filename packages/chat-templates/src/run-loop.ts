import { evaluate } from "./evaluate.ts";
import type { Body, Expression, ForStatement } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import {
  isTrue,
  makeBoolean,
  makeInteger,
  makeList,
  makeObject,
  makeUndefined,
  type Run,
  recordUse,
  Scope,
  type Value,
} from "./values.ts";

/** The output of a body and how it ended: `break` and `continue` propagate to the nearest loop. */
export type StatementOutput = { readonly text: string; readonly ending: "end" | "break" | "continue" };
type RunBody = (body: Body, run: Run) => StatementOutput;

export function runLoop(loop: ForStatement, run: Run, runBody: RunBody): StatementOutput {
  const inner: Run = { ...run, scope: new Scope(run.scope) };
  const items = findItems(loop, inner);
  let text = "";
  let isEmpty = true;
  for (const [index, item] of items.entries()) {
    inner.scope.setLazily("loop", () => createLoopVariable(items, index));
    setLoopVariables(loop.loopvar, item, inner.scope);
    run.budget.spend(1);
    const output = runBody(loop.body, inner);
    text = run.budget.measure(text + output.text);
    if (output.ending === "break") break;
    // As in llama.cpp, an iteration that ends with `continue` does not count for the `else` of the loop.
    if (output.ending === "end") isEmpty = false;
  }
  return { text: isEmpty ? text + runBody(loop.defaultBlock, run).text : text, ending: "end" };
}

function findItems({ iterable, loopvar }: ForStatement, run: Run): readonly Value[] {
  const condition = iterable.type === "SelectExpression" ? iterable.test : undefined;
  const value = evaluate(iterable.type === "SelectExpression" ? iterable.lhs : iterable, run);
  recordUse(value, "array access");
  const items = listItems(value, loopvar.type === "TupleLiteral");
  run.budget.spend(items.length);
  if (condition === undefined) return items;
  return items.filter((item) => {
    const scope = new Scope(run.scope);
    setLoopVariables(loopvar, item, scope);
    return isTrue(evaluate(condition, { ...run, scope }));
  });
}

/** An object yields its keys, or its key-value pairs if there are two loop variables. */
function listItems(value: Value, inPairs: boolean): readonly Value[] {
  if (value.kind === "list") return [...value.items];
  if (value.kind === "undefined") return [];
  if (value.kind !== "object") throw new TemplateError(`cannot iterate over type "${value.kind}"`);
  return [...value.entries.values()].map((entry) =>
    inPairs ? makeList([entry.key, entry.value], true) : entry.key,
  );
}

function setLoopVariables(target: Expression, item: Value, scope: Scope): void {
  if (target.type === "Identifier") return scope.set(target.value, item);
  const names = target.type === "TupleLiteral" ? target.value : [];
  if (item.kind !== "list" || item.items.length !== names.length) {
    throw new TemplateError(`cannot unpack type "${item.kind}" into ${names.length} loop variables`);
  }
  for (const [index, name] of names.entries()) {
    if (name.type !== "Identifier") throw new TemplateError("loop variable without a name");
    scope.set(name.value, item.items[index] ?? makeUndefined());
  }
}

function createLoopVariable(items: readonly Value[], index: number): Value {
  return makeObject(
    [
      ["index", makeInteger(index + 1)],
      ["index0", makeInteger(index)],
      ["revindex", makeInteger(items.length - index)],
      ["revindex0", makeInteger(items.length - index - 1)],
      ["first", makeBoolean(index === 0)],
      ["last", makeBoolean(index === items.length - 1)],
      ["length", makeInteger(items.length)],
      ["previtem", items[index - 1] ?? makeUndefined()],
      ["nextitem", items[index + 1] ?? makeUndefined()],
    ],
    false,
  );
}
