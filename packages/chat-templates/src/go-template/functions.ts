import type { Budget } from "../budget.ts";
import { formatDate } from "../format-date.ts";
import { TemplateError } from "../template-error.ts";
import { areEqual, isLess } from "./compare.ts";
import { sprintf } from "./format-text.ts";
import { formatValue, writeJson } from "./print-value.ts";
import { typeScriptType } from "./tool-schema.ts";
import {
  booleanValue,
  describeKind,
  type GoValue,
  integerValue,
  isTrue,
  nil,
  stringValue,
} from "./values.ts";

export type FunctionContext = { readonly budget: Budget; readonly now: Date };

type GoFunction = {
  readonly minArguments: number;
  readonly maxArguments: number;
  readonly run: (values: readonly GoValue[], context: FunctionContext) => GoValue;
};

const unlimited = Number.POSITIVE_INFINITY;
/** A slice copies its items in bulk, so they cost less than single items. */
const itemsPerStep = 16;
const dayMilliseconds = 86_400_000;

/** The short-circuit evaluation of `and` and `or` is up to the caller. */
const functions: Readonly<Record<string, GoFunction>> = {
  and: atLeast(1, (values) => values.find((value) => !isTrue(value)) ?? values.at(-1) ?? nil),
  or: atLeast(1, (values) => values.find(isTrue) ?? values.at(-1) ?? nil),
  not: exactly(1, ([value = nil]) => booleanValue(!isTrue(value))),
  eq: atLeast(2, ([first = nil, ...rest]) => booleanValue(rest.some((other) => areEqual(first, other)))),
  ne: exactly(2, ([first = nil, second = nil]) => booleanValue(!areEqual(first, second))),
  lt: exactly(2, ([first = nil, second = nil]) => booleanValue(isLess(first, second))),
  le: exactly(2, ([first = nil, second = nil]) =>
    booleanValue(isLess(first, second) || areEqual(first, second)),
  ),
  gt: exactly(2, ([first = nil, second = nil]) =>
    booleanValue(!isLess(first, second) && !areEqual(first, second)),
  ),
  ge: exactly(2, ([first = nil, second = nil]) => booleanValue(!isLess(first, second))),
  len: exactly(1, ([value = nil]) => integerValue(lengthOf(value))),
  index: atLeast(1, ([value = nil, ...indices]) => indices.reduce(indexValue, value)),
  slice: { minArguments: 1, maxArguments: 4, run: ([value = nil, ...bounds]) => sliceValue(value, bounds) },
  json: exactly(1, ([value = nil]) => stringValue(writeJson(value))),
  print: atLeast(0, (values) => stringValue(sprint(values))),
  println: atLeast(0, (values) => stringValue(`${values.map(formatValue).join(" ")}\n`)),
  printf: atLeast(1, ([format = nil, ...values]) => {
    if (format.kind !== "string") throw new TemplateError("printf: the format must be a string");
    return stringValue(sprintf(format.text, values));
  }),
  currentDate: atLeast(0, (_values, { now }) => formatDay(now)),
  yesterdayDate: atLeast(0, (_values, { now }) => formatDay(new Date(now.getTime() - dayMilliseconds))),
  toTypeScriptType: exactly(1, ([value = nil]) =>
    stringValue(value.kind === "record" && value.schema !== undefined ? typeScriptType(value.schema) : "any"),
  ),
};

export function isFunction(name: string): boolean {
  return Object.hasOwn(functions, name);
}

export function callFunction(name: string, values: readonly GoValue[], context: FunctionContext): GoValue {
  const called = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (called === undefined) throw new TemplateError(`unknown function "${name}"`);
  if (values.length < called.minArguments || values.length > called.maxArguments) {
    throw new TemplateError(`function "${name}" does not accept ${values.length} arguments`);
  }
  const result = called.run(values, context);
  if (result.kind === "string") context.budget.spendText(result.text.length);
  if (result.kind === "list") context.budget.spend(Math.ceil(result.items.length / itemsPerStep));
  return result;
}

function atLeast(minArguments: number, run: GoFunction["run"]): GoFunction {
  return { minArguments, maxArguments: unlimited, run };
}

function exactly(count: number, run: GoFunction["run"]): GoFunction {
  return { minArguments: count, maxArguments: count, run };
}

function formatDay(date: Date): GoValue {
  return stringValue(formatDate(date, "%Y-%m-%d"));
}

/** Strings are measured in bytes, as in Go. */
function lengthOf(value: GoValue): number {
  if (value.kind === "string") return Buffer.byteLength(value.text);
  if (value.kind === "list") return value.items.length;
  if (value.kind === "map") return value.entries.size;
  throw new TemplateError(`len does not support "${describeKind(value)}"`);
}

function indexValue(value: GoValue, index: GoValue): GoValue {
  if (value.kind === "map" && index.kind === "string") return value.entries.get(index.text) ?? nil;
  if (index.kind !== "integer")
    throw new TemplateError(`cannot index "${describeKind(value)}" with "${describeKind(index)}"`);
  const item =
    value.kind === "list"
      ? value.items[index.value]
      : value.kind === "string"
        ? byteAt(value.text, index.value)
        : undefined;
  if (item === undefined)
    throw new TemplateError(`index ${index.value} of "${describeKind(value)}" is out of range`);
  return item;
}

function byteAt(text: string, index: number): GoValue | undefined {
  const byte = Buffer.from(text)[index];
  return byte === undefined ? undefined : integerValue(byte);
}

function sliceValue(value: GoValue, bounds: readonly GoValue[]): GoValue {
  const length = lengthOf(value);
  const [start = 0, end = length] = bounds.map((bound) => {
    if (bound.kind === "integer" && bound.value >= 0 && bound.value <= length) return bound.value;
    throw new TemplateError(`slice bound of "${describeKind(value)}" is out of range`);
  });
  if (start > end) throw new TemplateError("slice ends before it starts");
  if (value.kind === "string" && bounds.length < 3)
    return stringValue(Buffer.from(value.text).toString("utf8", start, end));
  if (value.kind === "list") return { kind: "list", items: value.items.slice(start, end) };
  throw new TemplateError(`cannot slice "${describeKind(value)}"`);
}

/** Go's Sprint: adds a space between two values if neither is a string. */
function sprint(values: readonly GoValue[]): string {
  return values
    .map((value, index) => {
      const before = values[index - 1];
      const isSeparated = before !== undefined && before.kind !== "string" && value.kind !== "string";
      return (isSeparated ? " " : "") + formatValue(value);
    })
    .join("");
}
