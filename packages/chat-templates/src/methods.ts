import { argument, type Call, type Method, type MethodTable, stringAt } from "./call-arguments.ts";
import { toJson } from "./json-filter.ts";
import { listMethods } from "./list-methods.ts";
import { compares } from "./operators.ts";
import { TemplateError } from "./template-error.ts";
import { textMethods } from "./text-methods.ts";
import {
  getEntry,
  isTrue,
  makeFloat,
  makeInteger,
  makeList,
  makeNone,
  makeObject,
  makeText,
  makeUndefined,
  type ObjectValue,
  recordUseDeeply,
  spendTraversal,
  type Value,
} from "./values.ts";
import { asText, oneLine, writeJson } from "./write-value.ts";

/** Finds the method or filter of a value by name. */
export function findMethod(value: Value, name: string): Method | undefined {
  if (value.kind === "object" && !value.hasMethods) return undefined;
  const table = tables[value.kind];
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

const defaultFilter: Method = (self, call) => {
  const isMissing = isTrue(argument(call, "boolean", 1))
    ? !isTrue(self)
    : self.kind === "undefined" || self.kind === "none";
  const [fallback] = call.values;
  if (fallback === undefined) throw new TemplateError("default requires a value");
  return isMissing ? fallback : self;
};

const toJsonString: Method = (self) => makeText(writeJson(self, oneLine));
const toPythonString: Method = (self, { run }) => {
  spendTraversal(self, run.budget);
  recordUseDeeply(self);
  return makeText(asText(self));
};

const numberMethods: MethodTable = {
  default: defaultFilter,
  abs: (self) => changeNumber(self, Math.abs),
  int: (self) => makeInteger(Math.trunc(numberOf(self))),
  float: (self) => makeFloat(numberOf(self)),
  safe: toJsonString,
  string: toJsonString,
  tojson: toJson,
};

const booleanMethods: MethodTable = {
  default: defaultFilter,
  int: (self) => makeInteger(numberOf(self)),
  float: (self) => makeFloat(numberOf(self)),
  safe: toPythonString,
  string: toPythonString,
  tojson: toJson,
};

function numberOf(self: Value): number {
  if (self.kind === "boolean") return Number(self.is);
  return self.kind === "integer" || self.kind === "float" ? self.number : 0;
}

function changeNumber(self: Value, change: (number: number) => number): Value {
  return self.kind === "float" ? makeFloat(change(self.number)) : makeInteger(change(numberOf(self)));
}

type ObjectMethod = (self: ObjectValue, call: Call) => Value;

const objectMethods: MethodTable = Object.fromEntries(
  Object.entries({
    get: (self, call) => getEntry(self, makeText(stringAt(call, 0))) ?? call.values[1] ?? makeNone(),
    keys: ({ entries }) => makeList([...entries.values()].map(({ key }) => key)),
    values: ({ entries }) => makeList([...entries.values()].map(({ value }) => value)),
    items: ({ entries }) =>
      makeList([...entries.values()].map(({ key, value }) => makeList([key, value], true))),
    length: ({ entries }) => makeInteger(entries.size),
    dictsort: sortEntries,
    string: toPythonString,
    tojson: toJson,
  } satisfies Record<string, ObjectMethod>).map(
    ([name, method]: [string, ObjectMethod]): [string, Method] => [
      name,
      (self, call) => {
        if (self.kind !== "object")
          throw new TemplateError(`"${name}" requires an object, not "${self.kind}"`);
        if (name !== "get" && name !== "length") call.run.budget.spendItems(self.entries.size);
        return method(self, call);
      },
    ],
  ),
);

function sortEntries(self: ObjectValue, call: Call): Value {
  const by = argument(call, "by", 1);
  const isByValue = by.kind === "string" && by.text === "value";
  const comparison = isTrue(argument(call, "reverse", 2)) ? "gt" : "lt";
  const sorted = [...self.entries].toSorted(([, one], [, other]) => {
    const [first, second] = isByValue ? [one.value, other.value] : [one.key, other.key];
    return Number(compares(second, first, comparison)) - Number(compares(first, second, comparison));
  });
  const result = makeObject([]);
  for (const [id, entry] of sorted) result.entries.set(id, { ...entry });
  return result;
}

const emptyList: Method = () => makeList([]);
const emptyText: Method = () => makeText("");
const zero: Method = () => makeInteger(0);
const undefinedResult: Method = () => makeUndefined();

const noneMethods: MethodTable = {
  default: defaultFilter,
  tojson: toJson,
  string: toPythonString,
  safe: toPythonString,
  ...returning(emptyList, ["items", "map", "reject", "rejectattr", "select", "selectattr", "unique"]),
};

const undefinedMethods: MethodTable = {
  default: defaultFilter,
  ...returning(emptyText, [
    "capitalize",
    "join",
    "lower",
    "replace",
    "safe",
    "string",
    "strip",
    "title",
    "truncate",
    "upper",
  ]),
  ...returning(undefinedResult, ["first", "last", "max", "min"]),
  ...returning(zero, ["length", "sum", "wordcount"]),
  ...returning(emptyList, [
    "items",
    "list",
    "map",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "sort",
    "unique",
  ]),
};

function returning(method: Method, names: readonly string[]): MethodTable {
  return Object.fromEntries(names.map((name) => [name, method]));
}

const tables: Readonly<Record<Value["kind"], MethodTable>> = {
  undefined: undefinedMethods,
  none: noneMethods,
  boolean: booleanMethods,
  integer: numberMethods,
  float: numberMethods,
  string: textMethods,
  list: { default: defaultFilter, ...listMethods },
  object: objectMethods,
  function: {},
  keyword: {},
};
