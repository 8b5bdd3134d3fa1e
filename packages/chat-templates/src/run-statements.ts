import { applyFilter } from "./apply-filter.ts";
import { evaluate, evaluateAll, readFilter } from "./evaluate.ts";
import { runLoop, type StatementOutput } from "./run-loop.ts";
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
  spendTraversal,
  type Value,
} from "./values.ts";
import { print } from "./write-value.ts";

export function runStatements(body: Body, run: Run): StatementOutput {
  return run.budget.nest(() => {
    let text = "";
    for (const statement of body) {
      const output = runStatement(statement, run);
      text = run.budget.measure(text + output.text);
      if (output.ending !== "end") return { text, ending: output.ending };
    }
    return { text, ending: "end" };
  });
}

const noOutput: StatementOutput = { text: "", ending: "end" };

function runStatement(statement: Statement, run: Run): StatementOutput {
  run.budget.spend(1);
  if (isExpression(statement)) return printValue(evaluate(statement, run), run);
  switch (statement.type) {
    case "If":
      return runStatements(isTrue(evaluate(statement.test, run)) ? statement.body : statement.alternate, run);
    case "For":
      return runLoop(statement, run, runStatements);
    case "Set":
      assign(statement.assignee, evaluateAssigned(statement, run), run);
      return noOutput;
    case "Macro":
      run.scope.set(statement.name.value, makeMacro(statement.args, statement.body));
      return noOutput;
    case "CallStatement":
      return printValue(runCall(statement, run), run);
    case "FilterStatement": {
      const body = makeText(runStatements(statement.body, run).text);
      return printValue(applyFilter(body, readFilter(statement.filter, run), run), run);
    }
    case "Break":
      return { text: "", ending: "break" };
    case "Continue":
      return { text: "", ending: "continue" };
    case "Comment":
      return noOutput;
  }
}

function printValue(value: Value, { budget }: Run): StatementOutput {
  spendTraversal(value, budget);
  return { text: print(value), ending: "end" };
}

function evaluateAssigned({ value, body }: Extract<Statement, { type: "Set" }>, run: Run): Value {
  return value === null ? makeText(runStatements(body, run).text) : evaluate(value, run);
}

function assign(target: Expression, value: Value, run: Run): void {
  if (target.type === "Identifier") return run.scope.set(target.value, value);
  if (target.type === "TupleLiteral") {
    if (value.kind !== "list" || value.items.length !== target.value.length) {
      throw new TemplateError(`cannot unpack type "${value.kind}" into ${target.value.length} variables`);
    }
    for (const [index, element] of target.value.entries())
      assign(element, value.items[index] ?? makeUndefined(), run);
    return;
  }
  if (target.type === "MemberExpression" && !target.computed && target.property.type === "Identifier") {
    const object = evaluate(target.object, run);
    run.budget.spendItems(1);
    if (object.kind === "object") return insert(object, makeText(target.property.value), value);
  }
  throw new TemplateError(`cannot assign to "${target.type}"`);
}

/** A macro sees the variables of its caller, as in llama.cpp. */
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
  for (const [index, parameter] of parameters.entries()) {
    const name = parameter.type === "KeywordArgumentExpression" ? parameter.key.value : nameOf(parameter);
    const given = findArgument(values, name, index);
    if (given !== undefined) inner.scope.set(name, given);
    else if (parameter.type === "KeywordArgumentExpression")
      inner.scope.set(name, evaluate(parameter.value, outer));
    else if (index < values.length) inner.scope.set(name, makeUndefined());
    else throw new TemplateError(`macro called without argument "${name}"`);
  }
}

function nameOf(parameter: Expression): string {
  if (parameter.type === "Identifier") return parameter.value;
  throw new TemplateError("parameter without a name");
}

function findArgument(values: readonly Value[], name: string, index: number): Value | undefined {
  for (const value of values) if (value.kind === "keyword" && value.name === name) return value.value;
  const found = values[index];
  return found?.kind === "keyword" ? undefined : found;
}

function runCall({ call, callerArgs, body }: CallStatement, run: Run): Value {
  const called = evaluate(call.callee, run);
  if (called.kind !== "function")
    throw new TemplateError(`it calls a value, which has type "${called.kind}" and is not a function`);
  const block = makeMacro(callerArgs ?? [], body);
  const scope = new Scope(run.scope);
  // The block runs in the scope where it is written, not in that of the macro that calls it.
  scope.set(
    "caller",
    makeFunction((values) => (block.kind === "function" ? block.call(values, run) : block)),
  );
  return called.call(evaluateAll(call.args, run), { ...run, scope });
}
