import { applyFilter } from "./apply-filter.ts";
import { integerOr } from "./call-arguments.ts";
import { findGlobal } from "./globals.ts";
import { findMethod } from "./methods.ts";
import { isNot, isNumber, negate, operate } from "./operators.ts";
import type {
  BinaryExpression,
  CallExpression,
  Expression,
  MemberExpression,
  SliceExpression,
} from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import { test } from "./tests.ts";
import {
  getEntry,
  insert,
  isTrue,
  makeBoolean,
  makeFloat,
  makeFunction,
  makeInteger,
  makeList,
  makeObject,
  makeText,
  makeUndefined,
  type Run,
  recordUse,
  type Value,
} from "./values.ts";

/** Evaluates an expression. Uses are recorded as llama.cpp's probes count them. */
export function evaluate(node: Expression, run: Run): Value {
  run.budget.spend(1);
  switch (node.type) {
    case "Identifier":
      return evaluateName(node.value, run);
    case "StringLiteral":
      return makeText(node.value);
    case "IntegerLiteral":
      return makeInteger(node.value);
    case "FloatLiteral":
      return makeFloat(node.value);
    case "ArrayLiteral":
    case "TupleLiteral":
      run.budget.spendItems(node.value.length);
      return makeList(evaluateAll(node.value, run), node.type === "TupleLiteral");
    case "ObjectLiteral":
      return evaluateObject(node.value, run);
    case "KeywordArgumentExpression":
      return { kind: "keyword", name: node.key.value, value: evaluate(node.value, run) };
    case "BinaryExpression":
    case "MemberExpression":
    case "CallExpression":
    case "FilterExpression":
    case "TestExpression":
    case "UnaryExpression":
    case "Ternary":
    case "SelectExpression":
      return run.budget.nest(() => evaluateOperation(node, run));
    case "SliceExpression":
    case "SpreadExpression":
    case "KeywordSpreadExpression":
      throw new TemplateError(`unexpected "${node.type}"`);
  }
}

export function evaluateAll(nodes: readonly Expression[], run: Run): Value[] {
  return nodes.map((node) => evaluate(node, run));
}

function evaluateName(name: string, run: Run): Value {
  const found = run.scope.find(name);
  if (found === undefined || found.kind === "undefined") return findGlobal(name) ?? makeUndefined();
  recordUse(found);
  return found;
}

function evaluateObject(pairs: ReadonlyMap<Expression, Expression>, run: Run): Value {
  const object = makeObject([]);
  run.budget.spendItems(pairs.size);
  for (const [key, value] of pairs) insert(object, evaluate(key, run), evaluate(value, run));
  return object;
}

type Operation = Extract<
  Expression,
  {
    readonly type:
      | "BinaryExpression"
      | "MemberExpression"
      | "CallExpression"
      | "FilterExpression"
      | "TestExpression"
      | "UnaryExpression"
      | "Ternary"
      | "SelectExpression";
  }
>;

function evaluateOperation(node: Operation, run: Run): Value {
  switch (node.type) {
    case "BinaryExpression":
      return evaluateBinary(node, run);
    case "MemberExpression":
      return evaluateMember(node, run);
    case "CallExpression":
      return evaluateCall(node, run);
    case "FilterExpression":
      return applyFilter(evaluate(node.operand, run), readFilter(node.filter, run), run);
    case "TestExpression": {
      const operand = evaluate(node.operand, run);
      recordUse(operand, `is ${node.test.value}`);
      return makeBoolean(test(node.test.value, operand) !== node.negate);
    }
    case "UnaryExpression":
      return evaluateUnary(node.operator.value, evaluate(node.argument, run));
    case "Ternary":
      return evaluate(isTrue(evaluate(node.condition, run)) ? node.trueExpr : node.falseExpr, run);
    case "SelectExpression":
      return isTrue(evaluate(node.test, run)) ? evaluate(node.lhs, run) : makeUndefined();
  }
}

function evaluateUnary(operator: string, argument: Value): Value {
  if (operator === "not") return isNot(argument);
  if (operator === "-") return negate(argument);
  if (isNumber(argument)) return argument;
  throw new TemplateError(`operator "${operator}" is not supported for type "${argument.kind}"`);
}

function evaluateBinary({ operator, left, right }: BinaryExpression, run: Run): Value {
  const first = evaluate(left, run);
  if (operator.value === "and") return isTrue(first) ? evaluate(right, run) : first;
  if (operator.value === "or") return isTrue(first) ? first : evaluate(right, run);
  return operate(operator.value, { left: first, right: evaluate(right, run) }, run.budget);
}

export type FilterCall = { readonly name: string; readonly values: readonly Value[] | undefined };

export function readFilter(filter: Expression, run: Run): FilterCall {
  if (filter.type === "Identifier") return { name: filter.value, values: undefined };
  if (filter.type === "CallExpression" && filter.callee.type === "Identifier") {
    return { name: filter.callee.value, values: evaluateAll(filter.args, run) };
  }
  throw new TemplateError("filter without a name");
}

function evaluateCall({ callee, args }: CallExpression, run: Run): Value {
  const values = evaluateAll(args, run);
  const called = evaluate(callee, run);
  if (called.kind === "function") return called.call(values, run);
  const name = callee.type === "Identifier" ? `"${callee.value}"` : "a value";
  throw new TemplateError(`it calls ${name}, which has type "${called.kind}" and is not a function`);
}

function evaluateMember(node: MemberExpression, run: Run): Value {
  const object = evaluate(node.object, run);
  if (node.property.type === "SliceExpression") return evaluateSlice(object, node.property, run);
  if (!node.computed && node.property.type === "Identifier") {
    // A method shadows a key of the same name, but only after a dot: `x.items` and `x["items"]` differ.
    const method = bindMethod(object, node.property.value);
    if (method !== undefined) return method;
  }
  const property =
    !node.computed && node.property.type === "Identifier"
      ? makeText(node.property.value)
      : evaluate(node.property, run);
  if (property.kind === "undefined") return makeUndefined();
  const found = findMember(object, property);
  for (const used of [found, object, property]) recordUse(used);
  const isIndex = object.kind !== "object" && (property.kind === "integer" || property.kind === "boolean");
  recordUse(object, isIndex ? "array access" : "object access");
  return found;
}

function findMember(object: Value, property: Value): Value {
  if (object.kind === "undefined") return makeUndefined();
  if (object.kind === "object") {
    const found = getEntry(object, property);
    if (found !== undefined && found.kind !== "undefined") return found;
  }
  if (property.kind === "string") return bindMethod(object, property.text) ?? makeUndefined();
  if (object.kind === "list") return object.items.at(integerOr(property, 0)) ?? makeUndefined();
  if (object.kind === "string") {
    const character = object.text[integerOr(property, 0)];
    return character === undefined ? makeUndefined() : makeText(character);
  }
  if (object.kind === "object") return makeUndefined();
  throw new TemplateError(`type "${object.kind}" has no member of type "${property.kind}"`);
}

function bindMethod(object: Value, name: string): Value | undefined {
  recordUse(object, name);
  const method = findMethod(object, name);
  return method === undefined ? undefined : makeFunction((values, run) => method(object, { values, run }));
}

function evaluateSlice(object: Value, { start, stop, step }: SliceExpression, run: Run): Value {
  const length =
    object.kind === "list" ? object.items.length : object.kind === "string" ? object.text.length : 0;
  const by = step === undefined ? makeInteger(1) : evaluate(step, run);
  const isBackward = integerOr(by, 1) < 0;
  const from = start === undefined ? makeInteger(isBackward ? length - 1 : 0) : evaluate(start, run);
  const to = stop === undefined ? makeInteger(isBackward ? -1 : length) : evaluate(stop, run);
  run.budget.spend(length);
  return applyFilter(object, { name: "slice", values: [from, to, by] }, run);
}
