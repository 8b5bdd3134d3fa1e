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
  spendWalk,
  type Value,
} from "./values.ts";
import { asText } from "./write-value.ts";

export type Operands = { readonly left: Value; readonly right: Value };

/** Every operator but `and` and `or`, which do not always evaluate their right side. */
export function operate(operator: string, { left, right }: Operands, budget: Budget): Value {
  spendWalk(left, budget);
  spendWalk(right, budget);
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
    return makeText(budget.measure(besideText(left) + besideText(right)));
  }
  if (operator === "*") {
    const repeated = repeat(left, right, budget) ?? repeat(right, left, budget);
    if (repeated !== undefined) return repeated;
  }
  throw new TemplateError(`"${operator}" does not work between "${left.kind}" and "${right.kind}"`);
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
      left.items.every((item, at) => isSame(item, right.items[at]))
    );
  }
  if (left.kind === "object" && right.kind === "object") {
    const [ours, theirs] = [[...left.entries.values()], [...right.entries.values()]];
    if (
      ours.length !== theirs.length ||
      ![ours, theirs].every((all) => isFlat(all.map(({ value }) => value)))
    )
      return false;
    return ours.every(
      ({ key, value }, at) => isSame(key, theirs[at]?.key) && isSame(value, theirs[at]?.value),
    );
  }
  return left.kind === "none" || left.kind === "undefined";
}

function isSame(left: Value, right: Value | undefined): boolean {
  return right !== undefined && areEqual(left, right);
}

/** llama.cpp compares lists and objects only when nothing inside can change. */
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

export function isIn(needle: Value, place: Value): boolean {
  switch (place.kind) {
    case "undefined":
      return false;
    case "list":
      return place.items.some((item) => areEqual(needle, item));
    case "object":
      return getEntry(place, needle) !== undefined;
    case "string":
      if (needle.kind === "string") return place.text.includes(needle.text);
      break;
    case "none":
    case "boolean":
    case "integer":
    case "float":
    case "function":
    case "keyword":
  }
  throw new TemplateError(`a value of the kind "${needle.kind}" cannot be looked for in "${place.kind}"`);
}

type NumberValue = Extract<Value, { kind: "integer" | "float" }>;

export function isNumber(value: Value): value is NumberValue {
  return value.kind === "integer" || value.kind === "float";
}

function calculate(operator: string, left: NumberValue, right: NumberValue): Value | undefined {
  const [first, second] = [left.number, right.number];
  const make = left.kind === "float" || right.kind === "float" ? makeFloat : makeInteger;
  switch (operator) {
    case "+":
      return make(first + second);
    case "-":
      return make(first - second);
    case "*":
      return make(first * second);
    case "**":
      return make(first ** second);
    case "//":
      return make(Math.floor(first / second));
    case "/":
      return makeFloat(first / second);
    case "%":
      return make(first % second);
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

/** Beside a text, none and undefined are nothing. */
function besideText(value: Value): string {
  return value.kind === "none" || value.kind === "undefined" ? "" : asText(value);
}

function repeat(text: Value, times: Value, budget: Budget): Value | undefined {
  if (text.kind !== "string" || times.kind !== "integer") return undefined;
  const count = Math.max(0, times.number);
  budget.spendText(text.text.length * count);
  return makeText(text.text.repeat(count));
}

export type Comparison = "eq" | "ne" | "lt" | "gt" | "ge";

/** For sorting and for tests such as `gt`; kinds that cannot be compared are never so. */
export function compares(left: Value, right: Value, comparison: Comparison): boolean {
  if (isNumber(left) && isNumber(right)) return decide(left.number, right.number, comparison);
  const areTexts = [left, right].every((value) => value.kind === "string" || isNumber(value));
  if (areTexts) return decide(asText(left), asText(right), comparison);
  if (left.kind === "boolean" && right.kind === "boolean") return decide(left.is, right.is, comparison);
  return false;
}

function decide<Comparable extends number | string | boolean>(
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

/** `dict(…)` and `namespace(…)`: pairs or another object first, then keywords. */
export function makeFromArguments(
  values: readonly Value[],
  object: Extract<Value, { kind: "object" }>,
): Value {
  for (const value of values) {
    if (value.kind === "keyword") insert(object, { kind: "string", text: value.name }, value.value);
    else if (value.kind === "object")
      for (const entry of value.entries.values()) insert(object, entry.key, entry.value);
    else if (value.kind === "list") for (const pair of value.items) insertPair(object, pair);
    else throw new TemplateError("an object is made of keywords, an object or pairs");
  }
  return object;
}

function insertPair(object: Extract<Value, { kind: "object" }>, pair: Value): void {
  const [key, value] = pair.kind === "list" ? pair.items : [];
  if (key === undefined || value === undefined) throw new TemplateError("an object is made of pairs");
  insert(object, key, value);
}

export function negate(value: Value): Value {
  if (isNumber(value)) return { kind: value.kind, number: -value.number };
  throw new TemplateError(`"-" does not work on "${value.kind}"`);
}

export function isNot(value: Value): Value {
  return makeBoolean(!isTrue(value));
}
