import { toByteText } from "./byte-text.ts";
import { integerOr } from "./call-arguments.ts";
import { formatDate } from "./format-date.ts";
import { toJson } from "./json-filter.ts";
import { createObject } from "./operators.ts";
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

/** The global names of every template; a variable of the same name shadows a function. */
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

const maxDateFormat = 100;

const functions: Readonly<Record<string, Callee>> = {
  raise_exception: ([reason = makeText("")]) => {
    throw new TemplateError(asText(reason));
  },
  dict: (values) => createObject(values, makeObject([])),
  namespace: (values) => createObject(values, makeObject([])),
  strftime_now: ([format = makeText("")], { now }) => {
    const written = asText(format);
    if (written.length > maxDateFormat) throw new TemplateError("strftime_now: the date format is too long");
    return makeText(toByteText(formatDate(now, written)));
  },
  range,
  tojson: ([value = makeUndefined(), ...values], run) => toJson(value, { values, run }),
};

function range([first, second, third]: readonly Value[], run: Run): Value {
  const start = second === undefined ? 0 : integerOr(first, 0);
  const stop = integerOr(second ?? first, 0);
  const step = integerOr(third, 1);
  if (step === 0) throw new TemplateError("range step must not be 0");
  const count = Math.max(0, Math.ceil((stop - start) / step));
  run.budget.spendItems(count);
  return makeList(Array.from({ length: count }, (_, index) => makeInteger(start + index * step)));
}
