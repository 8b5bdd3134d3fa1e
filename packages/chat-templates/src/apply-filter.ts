import { findMethod } from "./methods.ts";
import { testWithArguments } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import { test } from "./tests.ts";
import { makeBoolean, makeText, type Run, recordUse, type Value } from "./values.ts";
import { asText } from "./write-value.ts";

type FilterCall = { readonly name: string; readonly values: readonly Value[] | undefined };

const otherNames: Readonly<Record<string, string>> = { count: "length", d: "default", trim: "strip" };
/** Without arguments these turn any value into text first. */
const takingText = new Set(["capitalize", "lower", "replace", "strip", "title", "upper", "wordcount"]);

export function applyFilter(value: Value, { name: written, values }: FilterCall, run: Run): Value {
  const tested = testWithArguments.exec(written)?.groups;
  if (tested !== undefined)
    return applyTest(
      value,
      { name: tested["name"] ?? "", values: values ?? [] },
      tested["not"] === undefined,
    );
  const name = Object.hasOwn(otherNames, written) ? (otherNames[written] ?? written) : written;
  const isTurned = values === undefined && takingText.has(name) && value.kind !== "undefined";
  const operand = isTurned && value.kind !== "string" ? makeText(asText(value)) : value;
  recordUse(operand, name);
  const method = findMethod(operand, name);
  if (method === undefined)
    throw new TemplateError(`the filter "${name}" does not work on "${operand.kind}"`);
  if (operand.kind === "string") run.budget.spendText(operand.text.length);
  return method(operand, { values: values ?? [], run });
}

type TestCall = { readonly name: string; readonly values: readonly Value[] };

function applyTest(value: Value, { name, values }: TestCall, isWanted: boolean): Value {
  recordUse(value, `is ${name}`);
  return makeBoolean(test(name, value, values[0]) === isWanted);
}
