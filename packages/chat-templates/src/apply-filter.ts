import { findMethod } from "./methods.ts";
import { testWithArguments } from "./syntax.ts";
import { TemplateError } from "./template-error.ts";
import { test } from "./tests.ts";
import { makeBoolean, makeText, type Run, recordUse, type Value } from "./values.ts";
import { asText } from "./write-value.ts";

type FilterCall = { readonly name: string; readonly values: readonly Value[] | undefined };

const aliases: Readonly<Record<string, string>> = { count: "length", d: "default", trim: "strip" };
/** Without arguments, these filters convert any value to a string first. */
const stringFilters = new Set(["capitalize", "lower", "replace", "strip", "title", "upper", "wordcount"]);

export function applyFilter(value: Value, { name: originalName, values }: FilterCall, run: Run): Value {
  const testMatch = testWithArguments.exec(originalName)?.groups;
  if (testMatch !== undefined)
    return applyTest(
      value,
      { name: testMatch["name"] ?? "", values: values ?? [] },
      testMatch["not"] === undefined,
    );
  const name = Object.hasOwn(aliases, originalName) ? (aliases[originalName] ?? originalName) : originalName;
  const convertsToString = values === undefined && stringFilters.has(name) && value.kind !== "undefined";
  const operand = convertsToString && value.kind !== "string" ? makeText(asText(value)) : value;
  recordUse(operand, name);
  const method = findMethod(operand, name);
  if (method === undefined)
    throw new TemplateError(`filter "${name}" is not supported for type "${operand.kind}"`);
  if (operand.kind === "string") run.budget.spendText(operand.text.length);
  return method(operand, { values: values ?? [], run });
}

type TestCall = { readonly name: string; readonly values: readonly Value[] };

function applyTest(value: Value, { name, values }: TestCall, expected: boolean): Value {
  recordUse(value, `is ${name}`);
  return makeBoolean(test(name, value, values[0]) === expected);
}
