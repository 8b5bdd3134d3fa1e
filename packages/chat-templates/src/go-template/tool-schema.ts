import type { JsonObject, JsonValue, Tool } from "@hearth-and-keep/engine";
import { fromJson, type GoRecord, type GoValue, isList, nil, stringValue } from "./values.ts";

type OrderedFields = readonly (readonly [name: string, value: GoValue])[];

/** A tool as templates see it. Its schema is complete; keywords without a field in Ollama come last. */
export function toolRecord({ name, description = "", parameters = {} }: Tool): GoRecord {
  const inner = parametersRecord({ type: "object", properties: {}, ...parameters });
  const called: OrderedFields = [
    ["name", stringValue(name)],
    ["description", stringValue(description)],
    ["parameters", inner],
  ];
  const described: GoRecord = { ...record("tool function", called), jsonFields: called };
  return record("tool", [
    ["type", stringValue("function")],
    ["function", described],
  ]);
}

const parameterKeys = ["type", "$defs", "items", "required", "properties"];
const propertyKeys = ["anyOf", "type", "items", "description", "enum", "properties", "required"];

function parametersRecord(schema: JsonObject): GoRecord {
  const orderedFields = orderFields(schema, parameterKeys);
  return { ...record("tool parameters", orderedFields, parameterKeys), schema };
}

function propertyRecord(schema: JsonObject): GoRecord {
  const orderedFields = orderFields(schema, propertyKeys);
  return { ...record("tool property", orderedFields, propertyKeys), schema };
}

function orderFields(schema: JsonObject, first: readonly string[]): OrderedFields {
  const rest = Object.keys(schema).filter((key) => !first.includes(key));
  return [...first.filter((key) => Object.hasOwn(schema, key)), ...rest].map(
    (key) => [key, schemaValue(key, schema[key] ?? null)] as const,
  );
}

function schemaValue(key: string, value: JsonValue): GoValue {
  if (key === "properties" && isObject(value)) {
    const entries = Object.entries(value).map(([name, inner]) => [name, propertyValue(inner)] as const);
    return { kind: "map", entries: new Map(entries), printsAsJson: true };
  }
  if (key === "anyOf" && isList(value)) return { kind: "list", items: value.map(propertyValue) };
  return fromJson(value);
}

function propertyValue(value: JsonValue): GoValue {
  return isObject(value) ? propertyRecord(value) : fromJson(value);
}

/** Fields are named as in Go, e.g. `Defs` for `$defs`; fields that a schema omits exist and are empty. */
function record(name: string, orderedFields: OrderedFields, known: readonly string[] = []): GoRecord {
  const fields = new Map<string, GoValue>(known.map((key) => [fieldName(key), emptyValue(key)]));
  for (const [key, value] of orderedFields) fields.set(fieldName(key), value);
  return { kind: "record", name, fields, jsonFields: orderedFields, printsAsJson: true };
}

function fieldName(key: string): string {
  const plain = key.replace(/^\$/u, "");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

function emptyValue(key: string): GoValue {
  if (key === "type" || key === "description") return stringValue("");
  return ["required", "enum", "anyOf"].includes(key) ? { kind: "list", items: [] } : nil;
}

const typeScriptTypes: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  array: "any[]",
  object: "Record<string, any>",
  null: "null",
};

export function typeScriptType({ anyOf, type }: JsonObject): string {
  if (isList(anyOf) && anyOf.length > 0) {
    return anyOf.map((each) => (isObject(each) ? typeScriptType(each) : "any")).join(" | ");
  }
  const types = isList(type) ? type : [type ?? ""];
  return types
    .map((each) =>
      typeof each === "string" && Object.hasOwn(typeScriptTypes, each) ? typeScriptTypes[each] : "any",
    )
    .join(" | ");
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !isList(value);
}
