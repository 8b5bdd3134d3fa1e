import { areEqual, compares, isIn } from "./operators.ts";
import { TemplateError } from "./template-error.ts";
import { makeUndefined, type Value } from "./values.ts";

type Test = (value: Value, other: Value) => boolean;

/** The tests that can follow `is`. */
const tests: Readonly<Record<string, Test>> = {
  boolean: ({ kind }) => kind === "boolean",
  callable: ({ kind }) => kind === "function",
  odd: (value) => integerOf(value) % 2 !== 0,
  even: (value) => integerOf(value) % 2 === 0,
  false: (value) => value.kind === "boolean" && !value.is,
  true: (value) => value.kind === "boolean" && value.is,
  divisibleby: (value, other) => integerOf(value) % integerOf(other) === 0,
  string: ({ kind }) => kind === "string",
  integer: ({ kind }) => kind === "integer",
  float: ({ kind }) => kind === "float",
  number: ({ kind }) => kind === "integer" || kind === "float",
  iterable: ({ kind }) => isSequence(kind),
  sequence: ({ kind }) => isSequence(kind),
  mapping: ({ kind }) => kind === "object",
  lower: (value) => !/[A-Z]/u.test(textOf(value)),
  upper: (value) => !/[a-z]/u.test(textOf(value)),
  none: ({ kind }) => kind === "none",
  defined: ({ kind }) => kind !== "undefined",
  undefined: ({ kind }) => kind === "undefined",
  eq: (value, other) => compares(value, other, "eq"),
  equalto: (value, other) => compares(value, other, "eq"),
  ne: (value, other) => compares(value, other, "ne"),
  gt: (value, other) => compares(value, other, "gt"),
  greaterthan: (value, other) => compares(value, other, "gt"),
  ge: (value, other) => compares(value, other, "ge"),
  lt: (value, other) => compares(value, other, "lt"),
  lessthan: (value, other) => compares(value, other, "lt"),
  in: isIn,
  sameas: (value, other) =>
    value === other || (value.kind !== "undefined" && isInterned(value) && areEqual(value, other)),
  test: (value) => Object.hasOwn(tests, textOf(value)),
};

export function test(name: string, value: Value, other: Value = makeUndefined()): boolean {
  const found = Object.hasOwn(tests, name) ? tests[name] : undefined;
  if (found === undefined) throw new TemplateError(`unknown test "${name}"`);
  return found(value, other);
}

function integerOf(value: Value): number {
  if (value.kind === "integer") return value.number;
  throw new TemplateError(`test requires an integer, not "${value.kind}"`);
}

function isSequence(kind: Value["kind"]): boolean {
  return kind === "object" || kind === "list" || kind === "string" || kind === "undefined";
}

function textOf(value: Value): string {
  if (value.kind === "string") return value.text;
  throw new TemplateError(`test requires a string, not "${value.kind}"`);
}

/** Python has a single object for each of these values. */
function isInterned(value: Value): boolean {
  return (
    value.kind === "none" ||
    value.kind === "boolean" ||
    (value.kind === "integer" && value.number >= -5 && value.number <= 256)
  );
}
