import {
  argument,
  type Call,
  integerOr,
  type Method,
  type MethodTable,
  readCut,
  sliceIndices,
  textOr,
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
  spendWalk,
  type Value,
} from "./values.ts";
import { asText } from "./write-value.ts";

type ListMethod = (self: ListValue, call: Call) => Value;

const ofLists: Readonly<Record<string, ListMethod>> = {
  list: ({ items }) => makeList([...items]),
  first: ({ items }) => items[0] ?? makeUndefined(),
  last: ({ items }) => items.at(-1) ?? makeUndefined(),
  length: ({ items }) => makeInteger(items.length),
  slice: ({ items, isTuple }, call) =>
    makeList(pick(items, sliceIndices(items.length, readCut(call, items.length))), isTuple),
  select: (self, call) => choose(self, call, true),
  selectattr: (self, call) => choose(self, call, true),
  reject: (self, call) => choose(self, call, false),
  rejectattr: (self, call) => choose(self, call, false),
  join,
  map,
  sort,
  reverse: ({ items, isTuple }) => makeList(items.toReversed(), isTuple),
  min: (self, call) => extreme(self, call, "lt"),
  max: (self, call) => extreme(self, call, "gt"),
  append: (self, { values: [value], run }) => {
    if (self.isTuple || value === undefined) throw new TemplateError("append needs a list and a value");
    run.budget.spendItems(1);
    self.items.push(value);
    return self;
  },
  pop: (self, { values }) => {
    const [taken] = self.isTuple ? [] : self.items.splice(integerOr(values[0], -1), 1);
    if (taken === undefined) throw new TemplateError("pop finds nothing in that place");
    return taken;
  },
  string: (self, { run }) => {
    spendWalk(self, run.budget);
    recordUseDeeply(self);
    return makeText(asText(self));
  },
  tojson: toJson,
};

/** What a list or tuple can do. Every method may walk it, so every call costs its length. */
export const listMethods: MethodTable = Object.fromEntries(
  Object.entries(ofLists).map(([name, method]): [string, Method] => [
    name,
    (self, call) => {
      if (self.kind !== "list") throw new TemplateError(`"${name}" needs a list, not "${self.kind}"`);
      if (name !== "append" && name !== "length") call.run.budget.spend(self.items.length);
      return method(self, call);
    },
  ]),
);

function pick(items: readonly Value[], places: readonly number[]): Value[] {
  return places.flatMap((place) => items[place] ?? []);
}

/** With one argument: the attribute is true. With two: the item passes the test. With three: its attribute does. */
function choose({ items }: ListValue, { values }: Call, isWanted: boolean): Value {
  const [first, second, third] = values;
  if (first === undefined) throw new TemplateError("select needs an argument");
  const passes = (item: Value): boolean => {
    if (second === undefined) return isTrue(attribute(item, first));
    if (third === undefined) return test(asText(first), item, second);
    return test(asText(second), attribute(item, first), third);
  };
  return makeList(items.filter((item) => passes(item) === isWanted));
}

function attribute(item: Value, name: Value): Value {
  if (item.kind === "object") return getEntry(item, name) ?? makeUndefined();
  if (item.kind !== "list") return makeUndefined();
  const place = name.kind === "string" && /^\d+$/u.test(name.text) ? Number(name.text) : integerOr(name, -1);
  return item.items.at(place) ?? makeUndefined();
}

function join({ items }: ListValue, call: Call): Value {
  const separator = textOr(argument(call, "d", 0), "");
  const name = argument(call, "attribute", 1);
  const pieces = items.map((item) => {
    const piece = name.kind === "undefined" ? item : attribute(item, name);
    if (!["string", "integer", "float"].includes(piece.kind))
      throw new TemplateError(`join cannot join "${piece.kind}"`);
    return asText(piece);
  });
  call.run.budget.spendText(pieces.reduce((sum, piece) => sum + piece.length + separator.length, 0));
  return makeText(pieces.join(separator));
}

function map({ items, isTuple }: ListValue, call: Call): Value {
  const name = argument(call, "attribute", Number.POSITIVE_INFINITY);
  if (name.kind === "undefined") throw new TemplateError("map knows attributes only");
  const otherwise = argument(call, "default", Number.POSITIVE_INFINITY);
  const mapped = items.map((item) => {
    const found = attribute(item, name);
    return found.kind === "undefined" ? otherwise : found;
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

function extreme({ items }: ListValue, call: Call, comparison: Comparison): Value {
  const name = argument(call, "attribute", 1);
  const keyOf = (item: Value): Value => (name.kind === "undefined" ? item : attribute(item, name));
  let best = items[0] ?? makeUndefined();
  for (const item of items) if (compares(keyOf(item), keyOf(best), comparison)) best = item;
  return best;
}
