import { toByteText } from "./byte-text.ts";
import { integerOr } from "./call-arguments.ts";
import { formatDate } from "./format-date.ts";
import { toJson } from "./json-filter.ts";
import { makeFromArguments } from "./operators.ts";
import { TemplateError } from "./template-error.ts";
import {
  type Callee,
  makeBoolean,
  makeFunction,
  makeInteger,
  makeList,
  makeNone,
  makeObject,
  makeText,
  makeUndefined,
  type Run,
  type Value,
} from "./values.ts";
import { asText } from "./write-value.ts";

/** The names every template knows; a variable of the same name hides a function. */
export function findGlobal(name: string): Value | undefined {
  if (Object.hasOwn(literals, name)) return literals[name]?.();
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
  return found === undefined ? undefined : makeFunction(found);
}

const literals: Readonly<Record<string, () => Value>> = {
  true: () => makeBoolean(true),
  True: () => makeBoolean(true),
  false: () => makeBoolean(false),
  False: () => makeBoolean(false),
  none: makeNone,
  None: makeNone,
};

const longestDateFormat = 100;

const functions: Readonly<Record<string, Callee>> = {
  raise_exception: ([reason = makeText("")]) => {
    throw new TemplateError(asText(reason));
  },
  dict: (values) => makeFromArguments(values, makeObject([])),
  namespace: (values) => makeFromArguments(values, makeObject([])),
  strftime_now: ([format = makeText("")], { now }) => {
    const written = asText(format);
    if (written.length > longestDateFormat)
      throw new TemplateError("strftime_now is given no format of a date");
    return makeText(toByteText(formatDate(now, written)));
  },
  range,
  tojson: ([value = makeUndefined(), ...values], run) => toJson(value, { values, run }),
};

function range([first, second, third]: readonly Value[], run: Run): Value {
  const start = second === undefined ? 0 : integerOr(first, 0);
  const stop = integerOr(second ?? first, 0);
  const step = integerOr(third, 1);
  if (step === 0) throw new TemplateError("a range cannot have the step 0");
  const count = Math.max(0, Math.ceil((stop - start) / step));
  run.budget.spendItems(count);
  return makeList(Array.from({ length: count }, (_, place) => makeInteger(start + place * step)));
}
