import {
  argument,
  type Call,
  integerOr,
  type Method,
  type MethodTable,
  readSlice,
  sliceIndices,
  stringOr,
} from "./call-arguments.ts";
import { toJson } from "./json-filter.ts";
import { type Comparison, compares } from "./operators.ts";
import { TemplateError } from "./template-error.ts";
import { test } from "./tests.ts";
import {
  getEntry,
  isTrue,
  type ListValue,
  makeInteger,
  makeList,
  makeText,
  makeUndefined,
  recordUseDeeply,
  spendTraversal,
  type Value,
} from "./values.ts";
import { asText } from "./write-value.ts";

type ListMethod = (self: ListValue, call: Call) => Value;

const methods: Readonly<Record<string, ListMethod>> = {
  list: ({ items }) => makeList([...items]),
  first: ({ items }) => items[0] ?? makeUndefined(),
  last: ({ items }) => items.at(-1) ?? makeUndefined(),
  length: ({ items }) => makeInteger(items.length),
  slice: ({ items, isTuple }, call) =>
    makeList(pick(items, sliceIndices(items.length, readSlice(call, items.length))), isTuple),
  select: (self, call) => selectItems(self, call, true),
  selectattr: (self, call) => selectItems(self, call, true),
  reject: (self, call) => selectItems(self, call, false),
  rejectattr: (self, call) => selectItems(self, call, false),
  join,
  map,
  sort,
  reverse: ({ items, isTuple }) => makeList(items.toReversed(), isTuple),
  min: (self, call) => findExtreme(self, call, "lt"),
  max: (self, call) => findExtreme(self, call, "gt"),
  append: (self, { values: [value], run }) => {
    if (self.isTuple || value === undefined) throw new TemplateError("append requires a list and a value");
    run.budget.spendItems(1);
    self.items.push(value);
    return self;
  },
  pop: (self, { values }) => {
    const [removed] = self.isTuple ? [] : self.items.splice(integerOr(values[0], -1), 1);
    if (removed === undefined) throw new TemplateError("pop index is out of range");
    return removed;
  },
  string: (self, { run }) => {
    spendTraversal(self, run.budget);
    recordUseDeeply(self);
    return makeText(asText(self));
  },
  tojson: toJson,
};

/** The methods of lists and tuples. Every method may traverse the list, so every call costs its length. */
export const listMethods: MethodTable = Object.fromEntries(
  Object.entries(methods).map(([name, method]): [string, Method] => [
    name,
    (self, call) => {
      if (self.kind !== "list") throw new TemplateError(`"${name}" requires a list, not "${self.kind}"`);
      if (name !== "append" && name !== "length") call.run.budget.spend(self.items.length);
      return method(self, call);
    },
  ]),
);

function pick(items: readonly Value[], indices: readonly number[]): Value[] {
  return indices.flatMap((index) => items[index] ?? []);
}

/** One argument: the attribute must be true. Two: the item must pass the test. Three: its attribute must. */
function selectItems({ items }: ListValue, { values }: Call, expected: boolean): Value {
  const [first, second, third] = values;
  if (first === undefined) throw new TemplateError("select requires an argument");
  const passes = (item: Value): boolean => {
    if (second === undefined) return isTrue(attribute(item, first));
    if (third === undefined) return test(asText(first), item, second);
    return test(asText(second), attribute(item, first), third);
  };
  return makeList(items.filter((item) => passes(item) === expected));
}

function attribute(item: Value, name: Value): Value {
  if (item.kind === "object") return getEntry(item, name) ?? makeUndefined();
  if (item.kind !== "list") return makeUndefined();
  const index = name.kind === "string" && /^\d+$/u.test(name.text) ? Number(name.text) : integerOr(name, -1);
  return item.items.at(index) ?? makeUndefined();
}

function join({ items }: ListValue, call: Call): Value {
  const separator = stringOr(argument(call, "d", 0), "");
  const name = argument(call, "attribute", 1);
  const strings = items.map((item) => {
    const value = name.kind === "undefined" ? item : attribute(item, name);
    if (!["string", "integer", "float"].includes(value.kind))
      throw new TemplateError(`join does not support type "${value.kind}"`);
    return asText(value);
  });
  call.run.budget.spendText(strings.reduce((sum, value) => sum + value.length + separator.length, 0));
  return makeText(strings.join(separator));
}

function map({ items, isTuple }: ListValue, call: Call): Value {
  const name = argument(call, "attribute", Number.POSITIVE_INFINITY);
  if (name.kind === "undefined") throw new TemplateError("map supports only attribute=");
  const fallback = argument(call, "default", Number.POSITIVE_INFINITY);
  const mapped = items.map((item) => {
    const found = attribute(item, name);
    return found.kind === "undefined" ? fallback : found;
  });
  return makeList(mapped, isTuple);
}

function sort({ items, isTuple }: ListValue, call: Call): Value {
  const comparison: Comparison = isTrue(argument(call, "reverse", 0)) ? "gt" : "lt";
  const name = argument(call, "attribute", 2);
  const keyed = items.map((item) => ({
    item,
    key: name.kind === "undefined" ? item : attribute(item, name),
  }));
  call.run.budget.spendItems(items.length);
  keyed.sort(
    (one, other) =>
      Number(compares(other.key, one.key, comparison)) - Number(compares(one.key, other.key, comparison)),
  );
  return makeList(
    keyed.map(({ item }) => item),
    isTuple,
  );
}

function findExtreme({ items }: ListValue, call: Call, comparison: Comparison): Value {
  const name = argument(call, "attribute", 1);
  const keyOf = (item: Value): Value => (name.kind === "undefined" ? item : attribute(item, name));
  let best = items[0] ?? makeUndefined();
  for (const item of items) if (compares(keyOf(item), keyOf(best), comparison)) best = item;
  return best;
}
