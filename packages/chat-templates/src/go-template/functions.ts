import type { Budget } from "../budget.ts";
import { formatDate } from "../format-date.ts";
import { TemplateError } from "../template-error.ts";
import { areEqual, isBefore } from "./compare.ts";
import { formatText } from "./format-text.ts";
import { printInside, writeJson } from "./print-value.ts";
import { typeScriptType } from "./tool-schema.ts";
import { type GoValue, isTrue, nameKind, nil, textValue, truthValue, wholeValue } from "./values.ts";

export type FunctionContext = { readonly budget: Budget; readonly now: Date };

type GoFunction = {
  readonly least: number;
  readonly most: number;
  readonly run: (values: readonly GoValue[], parts: FunctionContext) => GoValue;
};

const unlimited = Number.POSITIVE_INFINITY;
/** A slice copies its items at once. */
const itemsPerStep = 16;
const dayMilliseconds = 86_400_000;

/** `and` and `or` stop at the value that decides; whoever calls them sees to that. */
const functions: Readonly<Record<string, GoFunction>> = {
  and: any(1, (values) => values.find((value) => !isTrue(value)) ?? values.at(-1) ?? nil),
  or: any(1, (values) => values.find(isTrue) ?? values.at(-1) ?? nil),
  not: exactly(1, ([value = nil]) => truthValue(!isTrue(value))),
  eq: any(2, ([first = nil, ...rest]) => truthValue(rest.some((other) => areEqual(first, other)))),
  ne: exactly(2, ([first = nil, second = nil]) => truthValue(!areEqual(first, second))),
  lt: exactly(2, ([first = nil, second = nil]) => truthValue(isBefore(first, second))),
  le: exactly(2, ([first = nil, second = nil]) =>
    truthValue(isBefore(first, second) || areEqual(first, second)),
  ),
  gt: exactly(2, ([first = nil, second = nil]) =>
    truthValue(!isBefore(first, second) && !areEqual(first, second)),
  ),
  ge: exactly(2, ([first = nil, second = nil]) => truthValue(!isBefore(first, second))),
  len: exactly(1, ([value = nil]) => wholeValue(lengthOf(value))),
  index: any(1, ([value = nil, ...places]) => places.reduce(takeItem, value)),
  slice: { least: 1, most: 4, run: ([value = nil, ...places]) => takeSlice(value, places) },
  json: exactly(1, ([value = nil]) => textValue(writeJson(value))),
  print: any(0, (values) => textValue(printTogether(values))),
  println: any(0, (values) => textValue(`${values.map(printInside).join(" ")}\n`)),
  printf: any(1, ([form = nil, ...values]) => {
    if (form.kind !== "text") throw new TemplateError('it calls "printf" without a text');
    return textValue(formatText(form.text, values));
  }),
  currentDate: any(0, (_values, { now }) => dateOf(now)),
  yesterdayDate: any(0, (_values, { now }) => dateOf(new Date(now.getTime() - dayMilliseconds))),
  toTypeScriptType: exactly(1, ([value = nil]) =>
    textValue(value.kind === "record" && value.schema !== undefined ? typeScriptType(value.schema) : "any"),
  ),
};

export function isFunction(name: string): boolean {
  return Object.hasOwn(functions, name);
}

export function callFunction(name: string, values: readonly GoValue[], parts: FunctionContext): GoValue {
  const called = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (called === undefined) throw new TemplateError(`it calls "${name}", which is no function known here`);
  if (values.length < called.least || values.length > called.most) {
    throw new TemplateError(`it calls "${name}" with ${values.length} values`);
  }
  const result = called.run(values, parts);
  if (result.kind === "text") parts.budget.spendText(result.text.length);
  if (result.kind === "list") parts.budget.spend(Math.ceil(result.items.length / itemsPerStep));
  return result;
}

function any(least: number, run: GoFunction["run"]): GoFunction {
  return { least, most: unlimited, run };
}

function exactly(count: number, run: GoFunction["run"]): GoFunction {
  return { least: count, most: count, run };
}

function dateOf(date: Date): GoValue {
  return textValue(formatDate(date, "%Y-%m-%d"));
}

/** Of text in bytes, as Go counts it. */
function lengthOf(value: GoValue): number {
  if (value.kind === "text") return Buffer.byteLength(value.text);
  if (value.kind === "list") return value.items.length;
  if (value.kind === "map") return value.entries.size;
  throw new TemplateError(`it asks for the length of a ${nameKind(value)}`);
}

function takeItem(value: GoValue, place: GoValue): GoValue {
  if (value.kind === "map" && place.kind === "text") return value.entries.get(place.text) ?? nil;
  if (place.kind !== "whole")
    throw new TemplateError(`it takes the ${nameKind(place)} place of a ${nameKind(value)}`);
  const item =
    value.kind === "list"
      ? value.items[place.value]
      : value.kind === "text"
        ? byteAt(value.text, place.value)
        : undefined;
  if (item === undefined)
    throw new TemplateError(`it takes place ${place.value} of a ${nameKind(value)} without it`);
  return item;
}

function byteAt(text: string, place: number): GoValue | undefined {
  const byte = Buffer.from(text)[place];
  return byte === undefined ? undefined : wholeValue(byte);
}

function takeSlice(value: GoValue, places: readonly GoValue[]): GoValue {
  const length = lengthOf(value);
  const [start = 0, end = length] = places.map((place) => {
    if (place.kind === "whole" && place.value >= 0 && place.value <= length) return place.value;
    throw new TemplateError(`it takes a slice beyond the end of a ${nameKind(value)}`);
  });
  if (start > end) throw new TemplateError("it takes a slice that ends before it starts");
  if (value.kind === "text" && places.length < 3)
    return textValue(Buffer.from(value.text).toString("utf8", start, end));
  if (value.kind === "list") return { kind: "list", items: value.items.slice(start, end) };
  throw new TemplateError(`it takes a slice of a ${nameKind(value)}`);
}

/** Go's Sprint: a space between two values of which neither is a text. */
function printTogether(values: readonly GoValue[]): string {
  return values
    .map((value, index) => {
      const before = values[index - 1];
      const isApart = before !== undefined && before.kind !== "text" && value.kind !== "text";
      return (isApart ? " " : "") + printInside(value);
    })
    .join("");
}
