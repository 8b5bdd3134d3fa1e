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

/** What a body printed and how it ended: `break` and `continue` go up to the nearest loop. */
export type Printed = { readonly text: string; readonly ending: "end" | "break" | "continue" };
type RunBody = (body: Body, run: Run) => Printed;

export function runLoop(loop: ForStatement, run: Run, runBody: RunBody): Printed {
  const inner: Run = { ...run, scope: new Scope(run.scope) };
  const items = findItems(loop, inner);
  let text = "";
  let isEmpty = true;
  for (const [place, item] of items.entries()) {
    inner.scope.setLazily("loop", () => describePlace(items, place));
    setLoopVariables(loop.loopvar, item, inner.scope);
    run.budget.spend(1);
    const printed = runBody(loop.body, inner);
    text = run.budget.measure(text + printed.text);
    if (printed.ending === "break") break;
    // llama.cpp counts a round that ends by `continue` as none, for the else of the loop.
    if (printed.ending === "end") isEmpty = false;
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

/** An object gives its keys, or with two loop variables its pairs. */
function listItems(value: Value, inPairs: boolean): readonly Value[] {
  if (value.kind === "list") return [...value.items];
  if (value.kind === "undefined") return [];
  if (value.kind !== "object") throw new TemplateError(`it loops over a value of the kind "${value.kind}"`);
  return [...value.entries.values()].map((entry) =>
    inPairs ? makeList([entry.key, entry.value], true) : entry.key,
  );
}

function setLoopVariables(target: Expression, item: Value, scope: Scope): void {
  if (target.type === "Identifier") return scope.set(target.value, item);
  const names = target.type === "TupleLiteral" ? target.value : [];
  if (item.kind !== "list" || item.items.length !== names.length) {
    throw new TemplateError(`a loop takes ${names.length} values out of "${item.kind}"`);
  }
  for (const [place, name] of names.entries()) {
    if (name.type !== "Identifier") throw new TemplateError("a loop variable has no name");
    scope.set(name.value, item.items[place] ?? makeUndefined());
  }
}

function describePlace(items: readonly Value[], place: number): Value {
  return makeObject(
    [
      ["index", makeInteger(place + 1)],
      ["index0", makeInteger(place)],
      ["revindex", makeInteger(items.length - place)],
      ["revindex0", makeInteger(items.length - place - 1)],
      ["first", makeBoolean(place === 0)],
      ["last", makeBoolean(place === items.length - 1)],
      ["length", makeInteger(items.length)],
      ["previtem", items[place - 1] ?? makeUndefined()],
      ["nextitem", items[place + 1] ?? makeUndefined()],
    ],
    false,
  );
}
