import type { JsonObject } from "@hearth-and-keep/engine";
import type { Budget } from "./budget.ts";
import { fromByteText } from "./byte-text.ts";
import { runStatements } from "./run-statements.ts";
import type { Body } from "./syntax.ts";
import { fromJson, Scope, type Value } from "./values.ts";

export type TemplateRun = { readonly budget: Budget; readonly now: Date };

export function createVariables(variables: JsonObject): ReadonlyMap<string, Value> {
  return new Map(Object.entries(variables).map(([name, value]) => [name, fromJson(value)]));
}

export function runTemplate(
  body: Body,
  variables: ReadonlyMap<string, Value>,
  { budget, now }: TemplateRun,
): string {
  const scope = new Scope();
  for (const [name, value] of variables) scope.set(name, value);
  return fromByteText(runStatements(body, { scope, budget, now }).text);
}
