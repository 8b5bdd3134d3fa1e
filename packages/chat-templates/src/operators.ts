import type { Budget } from "./budget.ts";
import { TemplateError } from "./template-error.ts";
import {
  getEntry,
  insert,
  isTrue,
  makeBoolean,
  makeFloat,
  makeInteger,
  makeList,
  makeText,
  spendTraversal,
  type Value,
} from "./values.ts";
import { asText } from "./write-value.ts";

export type Operands = { readonly left: Value; readonly right: Value };

/** Every operator except `and` and `or`, which do not always evaluate their right side. */
export function operate(operator: string, { left, right }: Operands, budget: Budget): Value {
  spendTraversal(left, budget);
  spendTraversal(right, budget);
  if (operator === "==") return makeBoolean(areEqual(left, right));
  if (operator === "!=") return makeBoolean(!areEqual(left, right));
  if (operator === "in") return makeBoolean(isIn(left, right));
  if (operator === "not in") return makeBoolean(!isIn(left, right));
  if (isNumber(left) && isNumber(right)) {
    const result = calculate(operator, left, right);
    if (result !== undefined) return result;
  }
  if (operator === "+" && left.kind === "list" && right.kind === "list") {
    budget.spendItems(left.items.length + right.items.length);
    return makeList([...left.items, ...right.items]);
  }
  if ((operator === "+" || operator === "~") && (left.kind === "string" || right.kind === "string")) {
    return makeText(budget.measure(toConcatenated(left) + toConcatenated(right)));
  }
  if (operator === "*") {
    const repeated = repeat(left, right, budget) ?? repeat(right, left, budget);
    if (repeated !== undefined) return repeated;
  }
  throw new TemplateError(
    `operator "${operator}" is not supported between types "${left.kind}" and "${right.kind}"`,
  );
}

export function areEqual(left: Value, right: Value): boolean {
  if (isNumeric(left)) return isNumeric(right) && numberOf(left) === numberOf(right);
  if (left.kind !== right.kind) return false;
  if (left.kind === "string" && right.kind === "string") return left.text === right.text;
  if (left.kind === "list" && right.kind === "list") {
    if (left.isTuple !== right.isTuple || left.items.length !== right.items.length) return false;
    return (
      isFlat(left.items) &&
      isFlat(right.items) &&
      left.items.every((item, index) => isSame(item, right.items[index]))
    );
  }
  if (left.kind === "object" && right.kind === "object") {
    const [leftEntries, rightEntries] = [[...left.entries.values()], [...right.entries.values()]];
    if (
      leftEntries.length !== rightEntries.length ||
      ![leftEntries, rightEntries].every((all) => isFlat(all.map(({ value }) => value)))
    )
      return false;
    return leftEntries.every(
      ({ key, value }, index) =>
        isSame(key, rightEntries[index]?.key) && isSame(value, rightEntries[index]?.value),
    );
  }
  return left.kind === "none" || left.kind === "undefined";
}

function isSame(left: Value, right: Value | undefined): boolean {
  return right !== undefined && areEqual(left, right);
}

/** llama.cpp compares lists and objects only if they contain nothing mutable. */
function isFlat(items: readonly Value[]): boolean {
  return items.every((item) =>
    item.kind === "list"
      ? item.isTuple && isFlat(item.items)
      : !["object", "function", "undefined"].includes(item.kind),
  );
}

type NumericValue = Extract<Value, { kind: "integer" | "float" | "boolean" }>;

function isNumeric(value: Value): value is NumericValue {
  return value.kind === "boolean" || isNumber(value);
}

function numberOf(value: NumericValue): number {
  return value.kind === "boolean" ? Number(value.is) : value.number;
}

export function isIn(needle: Value, container: Value): boolean {
  switch (container.kind) {
    case "undefined":
      return false;
    case "list":
      return container.items.some((item) => areEqual(needle, item));
    case "object":
      return getEntry(container, needle) !== undefined;
    case "string":
      if (needle.kind === "string") return container.text.includes(needle.text);
      break;
    case "none":
    case "boolean":
    case "integer":
    case "float":
    case "function":
    case "keyword":
  }
  throw new TemplateError(
    `operator "in" is not supported between types "${needle.kind}" and "${container.kind}"`,
  );
}

type NumberValue = Extract<Value, { kind: "integer" | "float" }>;

export function isNumber(value: Value): value is NumberValue {
  return value.kind === "integer" || value.kind === "float";
}

function calculate(operator: string, left: NumberValue, right: NumberValue): Value | undefined {
  const [first, second] = [left.number, right.number];
  const create = left.kind === "float" || right.kind === "float" ? makeFloat : makeInteger;
  switch (operator) {
    case "+":
      return create(first + second);
    case "-":
      return create(first - second);
    case "*":
      return create(first * second);
    case "**":
      return create(first ** second);
    case "//":
      return create(Math.floor(first / second));
    case "/":
      return makeFloat(first / second);
    case "%":
      return create(first % second);
    case "<":
      return makeBoolean(first < second);
    case ">":
      return makeBoolean(first > second);
    case "<=":
      return makeBoolean(first <= second);
    case ">=":
      return makeBoolean(first >= second);
    default:
      return undefined;
  }
}

/** When concatenated to a string, none and undefined are empty. */
function toConcatenated(value: Value): string {
  return value.kind === "none" || value.kind === "undefined" ? "" : asText(value);
}

function repeat(text: Value, times: Value, budget: Budget): Value | undefined {
  if (text.kind !== "string" || times.kind !== "integer") return undefined;
  const count = Math.max(0, times.number);
  budget.spendText(text.text.length * count);
  return makeText(text.text.repeat(count));
}

export type Comparison = "eq" | "ne" | "lt" | "gt" | "ge";

/** For sorting and for tests such as `gt`; false for types that cannot be compared. */
export function compares(left: Value, right: Value, comparison: Comparison): boolean {
  if (isNumber(left) && isNumber(right)) return compareBy(left.number, right.number, comparison);
  const areTexts = [left, right].every((value) => value.kind === "string" || isNumber(value));
  if (areTexts) return compareBy(asText(left), asText(right), comparison);
  if (left.kind === "boolean" && right.kind === "boolean") return compareBy(left.is, right.is, comparison);
  return false;
}

function compareBy<Comparable extends number | string | boolean>(
  left: Comparable,
  right: Comparable,
  comparison: Comparison,
): boolean {
  switch (comparison) {
    case "eq":
      return left === right;
    case "ne":
      return left !== right;
    case "lt":
      return left < right;
    case "gt":
      return left > right;
    case "ge":
      return left >= right;
  }
}

/** `dict(…)` and `namespace(…)`: pairs or another object first, then keyword arguments. */
export function createObject(values: readonly Value[], object: Extract<Value, { kind: "object" }>): Value {
  for (const value of values) {
    if (value.kind === "keyword") insert(object, { kind: "string", text: value.name }, value.value);
    else if (value.kind === "object")
      for (const entry of value.entries.values()) insert(object, entry.key, entry.value);
    else if (value.kind === "list") for (const pair of value.items) insertPair(object, pair);
    else throw new TemplateError("dict requires keyword arguments, an object or pairs");
  }
  return object;
}

function insertPair(object: Extract<Value, { kind: "object" }>, pair: Value): void {
  const [key, value] = pair.kind === "list" ? pair.items : [];
  if (key === undefined || value === undefined) throw new TemplateError("dict requires pairs");
  insert(object, key, value);
}

export function negate(value: Value): Value {
  if (isNumber(value)) return { kind: value.kind, number: -value.number };
  throw new TemplateError(`operator "-" is not supported for type "${value.kind}"`);
}

export function isNot(value: Value): Value {
  return makeBoolean(!isTrue(value));
}
