import type { JsonObject, JsonValue, Tool } from "@hearth-and-keep/engine";
import { fromJson, type GoRecord, type GoValue, isList, nil, textValue } from "./values.ts";

type Written = readonly (readonly [name: string, value: GoValue])[];

/** A tool as templates see it. Nothing of its schema is left out; what Ollama has no field for comes last. */
export function toolRecord({ name, description = "", parameters = {} }: Tool): GoRecord {
  const inner = parametersRecord({ type: "object", properties: {}, ...parameters });
  const called: Written = [
    ["name", textValue(name)],
    ["description", textValue(description)],
    ["parameters", inner],
  ];
  const described: GoRecord = { ...record("tool function", called), written: called };
  return record("tool", [
    ["type", textValue("function")],
    ["function", described],
  ]);
}

const parameterKeys = ["type", "$defs", "items", "required", "properties"];
const propertyKeys = ["anyOf", "type", "items", "description", "enum", "properties", "required"];

function parametersRecord(schema: JsonObject): GoRecord {
  const written = writeInOrder(schema, parameterKeys);
  return { ...record("tool parameters", written, parameterKeys), schema };
}

function propertyRecord(schema: JsonObject): GoRecord {
  const written = writeInOrder(schema, propertyKeys);
  return { ...record("tool property", written, propertyKeys), schema };
}

function writeInOrder(schema: JsonObject, first: readonly string[]): Written {
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

/** Fields are called as in Go, `$defs` becoming `Defs`; those that a schema leaves out are there and empty. */
function record(name: string, written: Written, known: readonly string[] = []): GoRecord {
  const fields = new Map<string, GoValue>(known.map((key) => [fieldName(key), emptyValue(key)]));
  for (const [key, value] of written) fields.set(fieldName(key), value);
  return { kind: "record", name, fields, written, printsAsJson: true };
}

function fieldName(key: string): string {
  const plain = key.replace(/^\$/u, "");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

function emptyValue(key: string): GoValue {
  if (key === "type" || key === "description") return textValue("");
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
