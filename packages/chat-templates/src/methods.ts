import { argument, type Call, type Method, type MethodTable, textAt } from "./call-arguments.ts";
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
  spendWalk,
  type Value,
} from "./values.ts";
import { asText, oneLine, writeJson } from "./write-value.ts";

/** The method or filter of this name that a value has. */
export function findMethod(value: Value, name: string): Method | undefined {
  if (value.kind === "object" && !value.hasMethods) return undefined;
  const table = tables[value.kind];
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

const orDefault: Method = (self, call) => {
  const isMissing = isTrue(argument(call, "boolean", 1))
    ? !isTrue(self)
    : self.kind === "undefined" || self.kind === "none";
  const [otherwise] = call.values;
  if (otherwise === undefined) throw new TemplateError("default needs a value");
  return isMissing ? otherwise : self;
};

const asJsonText: Method = (self) => makeText(writeJson(self, oneLine));
const asPythonText: Method = (self, { run }) => {
  spendWalk(self, run.budget);
  recordUseDeeply(self);
  return makeText(asText(self));
};

const ofNumbers: MethodTable = {
  default: orDefault,
  abs: (self) => changeNumber(self, Math.abs),
  int: (self) => makeInteger(Math.trunc(numberOf(self))),
  float: (self) => makeFloat(numberOf(self)),
  safe: asJsonText,
  string: asJsonText,
  tojson: toJson,
};

const ofBooleans: MethodTable = {
  default: orDefault,
  int: (self) => makeInteger(numberOf(self)),
  float: (self) => makeFloat(numberOf(self)),
  safe: asPythonText,
  string: asPythonText,
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

const ofObjects: MethodTable = Object.fromEntries(
  Object.entries({
    get: (self, call) => getEntry(self, makeText(textAt(call, 0))) ?? call.values[1] ?? makeNone(),
    keys: ({ entries }) => makeList([...entries.values()].map(({ key }) => key)),
    values: ({ entries }) => makeList([...entries.values()].map(({ value }) => value)),
    items: ({ entries }) =>
      makeList([...entries.values()].map(({ key, value }) => makeList([key, value], true))),
    length: ({ entries }) => makeInteger(entries.size),
    dictsort: sortEntries,
    string: asPythonText,
    tojson: toJson,
  } satisfies Record<string, ObjectMethod>).map(
    ([name, method]: [string, ObjectMethod]): [string, Method] => [
      name,
      (self, call) => {
        if (self.kind !== "object") throw new TemplateError(`"${name}" needs an object, not "${self.kind}"`);
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
  const made = makeObject([]);
  for (const [id, entry] of sorted) made.entries.set(id, { ...entry });
  return made;
}

const emptyList: Method = () => makeList([]);
const emptyText: Method = () => makeText("");
const zero: Method = () => makeInteger(0);
const nothing: Method = () => makeUndefined();

const ofNone: MethodTable = {
  default: orDefault,
  tojson: toJson,
  string: asPythonText,
  safe: asPythonText,
  ...giving(emptyList, ["items", "map", "reject", "rejectattr", "select", "selectattr", "unique"]),
};

const ofUndefined: MethodTable = {
  default: orDefault,
  ...giving(emptyText, [
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
  ...giving(nothing, ["first", "last", "max", "min"]),
  ...giving(zero, ["length", "sum", "wordcount"]),
  ...giving(emptyList, [
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

function giving(method: Method, names: readonly string[]): MethodTable {
  return Object.fromEntries(names.map((name) => [name, method]));
}

const tables: Readonly<Record<Value["kind"], MethodTable>> = {
  undefined: ofUndefined,
  none: ofNone,
  boolean: ofBooleans,
  integer: ofNumbers,
  float: ofNumbers,
  string: textMethods,
  list: { default: orDefault, ...listMethods },
  object: ofObjects,
  function: {},
  keyword: {},
};
