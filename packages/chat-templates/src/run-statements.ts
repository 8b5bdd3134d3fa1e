import { applyFilter } from "./apply-filter.ts";
import { evaluate, evaluateAll, readFilter } from "./evaluate.ts";
import { type Printed, runLoop } from "./run-loop.ts";
import { type Body, type CallStatement, type Expression, isExpression, type Statement } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import {
  insert,
  isTrue,
  makeFunction,
  makeText,
  makeUndefined,
  type Run,
  Scope,
  spendWalk,
  type Value,
} from "./values.ts";
import { print } from "./write-value.ts";

export function runStatements(body: Body, run: Run): Printed {
  return run.budget.nest(() => {
    let text = "";
    for (const statement of body) {
      const printed = runStatement(statement, run);
      text = run.budget.measure(text + printed.text);
      if (printed.ending !== "end") return { text, ending: printed.ending };
    }
    return { text, ending: "end" };
  });
}

const silent: Printed = { text: "", ending: "end" };

function runStatement(statement: Statement, run: Run): Printed {
  run.budget.spend(1);
  if (isExpression(statement)) return say(evaluate(statement, run), run);
  switch (statement.type) {
    case "If":
      return runStatements(isTrue(evaluate(statement.test, run)) ? statement.body : statement.alternate, run);
    case "For":
      return runLoop(statement, run, runStatements);
    case "Set":
      assign(statement.assignee, evaluateAssigned(statement, run), run);
      return silent;
    case "Macro":
      run.scope.set(statement.name.value, makeMacro(statement.args, statement.body));
      return silent;
    case "CallStatement":
      return say(runCall(statement, run), run);
    case "FilterStatement": {
      const body = makeText(runStatements(statement.body, run).text);
      return say(applyFilter(body, readFilter(statement.filter, run), run), run);
    }
    case "Break":
      return { text: "", ending: "break" };
    case "Continue":
      return { text: "", ending: "continue" };
    case "Comment":
      return silent;
  }
}

function say(value: Value, { budget }: Run): Printed {
  spendWalk(value, budget);
  return { text: print(value), ending: "end" };
}

function evaluateAssigned({ value, body }: Extract<Statement, { type: "Set" }>, run: Run): Value {
  return value === null ? makeText(runStatements(body, run).text) : evaluate(value, run);
}

function assign(target: Expression, value: Value, run: Run): void {
  if (target.type === "Identifier") return run.scope.set(target.value, value);
  if (target.type === "TupleLiteral") {
    if (value.kind !== "list" || value.items.length !== target.value.length) {
      throw new TemplateError(`it takes ${target.value.length} values out of "${value.kind}"`);
    }
    for (const [place, part] of target.value.entries())
      assign(part, value.items[place] ?? makeUndefined(), run);
    return;
  }
  if (target.type === "MemberExpression" && !target.computed && target.property.type === "Identifier") {
    const object = evaluate(target.object, run);
    run.budget.spendItems(1);
    if (object.kind === "object") return insert(object, makeText(target.property.value), value);
  }
  throw new TemplateError(`it assigns to a "${target.type}"`);
}

/** A macro sees the variables of the place it is called from, as in llama.cpp. */
function makeMacro(parameters: readonly Expression[], body: Body): Value {
  return makeFunction((values, run) => {
    const inner = { ...run, scope: new Scope(run.scope) };
    bind(parameters, values, { outer: run, inner });
    return makeText(runStatements(body, inner).text);
  });
}

function bind(
  parameters: readonly Expression[],
  values: readonly Value[],
  { outer, inner }: { readonly outer: Run; readonly inner: Run },
): void {
  for (const [place, parameter] of parameters.entries()) {
    const name = parameter.type === "KeywordArgumentExpression" ? parameter.key.value : nameOf(parameter);
    const given = findArgument(values, name, place);
    if (given !== undefined) inner.scope.set(name, given);
    else if (parameter.type === "KeywordArgumentExpression")
      inner.scope.set(name, evaluate(parameter.value, outer));
    else if (place < values.length) inner.scope.set(name, makeUndefined());
    else throw new TemplateError(`a macro is called without its argument "${name}"`);
  }
}

function nameOf(parameter: Expression): string {
  if (parameter.type === "Identifier") return parameter.value;
  throw new TemplateError("a parameter has no name");
}

function findArgument(values: readonly Value[], name: string, place: number): Value | undefined {
  for (const value of values) if (value.kind === "keyword" && value.name === name) return value.value;
  const found = values[place];
  return found?.kind === "keyword" ? undefined : found;
}

function runCall({ call, callerArgs, body }: CallStatement, run: Run): Value {
  const called = evaluate(call.callee, run);
  if (called.kind !== "function") throw new TemplateError(`it calls a value of the kind "${called.kind}"`);
  const block = makeMacro(callerArgs ?? [], body);
  const scope = new Scope(run.scope);
  // The block belongs to the place where it is written, not to the macro that calls it.
  scope.set(
    "caller",
    makeFunction((values) => (block.kind === "function" ? block.call(values, run) : block)),
  );
  return called.call(evaluateAll(call.args, run), { ...run, scope });
}
