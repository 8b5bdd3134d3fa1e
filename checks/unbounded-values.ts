import { isBoundedPattern, isShortFormat } from "./bounded-text.ts";
import { isObject, type JsonObject } from "./json-text.ts";

export type UnboundedValue = {
  /** A JSON pointer into the schema; "" is the schema itself. */
  readonly pointer: string;
  readonly missing: string;
};

const lists = ["anyOf", "oneOf", "allOf", "prefixItems"];
const maps = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const singles = ["items", "additionalItems", "additionalProperties", "contains", "if", "then", "else"];

/**
 * Finds the values of a JSON Schema that may grow without limit: a string, list, number or map without a bound, or a
 * value of any type. Works on the built schema, so it also covers what a schema takes from constants and functions.
 * Recursion depth is not checked, because the maximum size of the body limits it.
 */
export function findUnboundedValues(schema: unknown, pointer = ""): readonly UnboundedValue[] {
  if (schema === false) return [];
  if (!isObject(schema)) return [{ pointer, missing: "a type" }];
  if ("const" in schema || "enum" in schema) return [];
  return [...ownValues(schema, pointer), ...innerValues(schema, pointer)];
}

function ownValues(schema: JsonObject, pointer: string): UnboundedValue[] {
  const kinds = kindsOf(schema);
  const acceptsAnything = kinds.length === 0 && !("$ref" in schema) && !lists.some((key) => key in schema);
  const missing = [
    ...(acceptsAnything ? ["a type"] : []),
    ...kinds.flatMap((kind) => missingBounds(kind, schema)),
  ];
  return missing.map((bound) => ({ pointer, missing: bound }));
}

function kindsOf(schema: JsonObject): unknown[] {
  const kind = schema["type"];
  if (kind === undefined) return "properties" in schema ? ["object"] : [];
  return Array.isArray(kind) ? kind : [kind];
}

function missingBounds(kind: unknown, schema: JsonObject): string[] {
  switch (kind) {
    case "string":
      return isBoundedString(schema) ? [] : ["maxLength"];
    case "array":
      return hasNumber(schema, "maxItems") || isTuple(schema) ? [] : ["maxItems"];
    case "number":
    case "integer":
      return [
        ...(hasNumber(schema, "minimum") || hasNumber(schema, "exclusiveMinimum") ? [] : ["minimum"]),
        ...(hasNumber(schema, "maximum") || hasNumber(schema, "exclusiveMaximum") ? [] : ["maximum"]),
      ];
    case "object":
      return [
        ...(isMap(schema) && !hasNumber(schema, "maxProperties") ? ["maxProperties"] : []),
        ...(isMap(schema) && !hasBoundedKeys(schema) ? ["a bound for its keys"] : []),
      ];
    case "boolean":
    case "null":
      return [];
    default:
      return [`a bound this check knows for "${String(kind)}"`];
  }
}

function isBoundedString(schema: JsonObject): boolean {
  const pattern = schema["pattern"];
  if (hasNumber(schema, "maxLength") || isShortFormat(schema["format"])) return true;
  return typeof pattern === "string" && isBoundedPattern(pattern);
}

function isTuple(schema: JsonObject): boolean {
  const isOldForm = Array.isArray(schema["items"]) && schema["additionalItems"] === false;
  return isOldForm || (Array.isArray(schema["prefixItems"]) && schema["items"] === false);
}

/** An object whose keys the client chooses. The validator strips undeclared keys next to declared ones. */
function isMap(schema: JsonObject): boolean {
  const extra = schema["additionalProperties"];
  return "patternProperties" in schema || isObject(extra) || (!("properties" in schema) && extra !== false);
}

function hasBoundedKeys(schema: JsonObject): boolean {
  const names = schema["propertyNames"];
  if (isObject(names) && ("enum" in names || isBoundedString(names))) return true;
  const patterns = schema["patternProperties"];
  return isObject(patterns) && Object.keys(patterns).every(isBoundedPattern);
}

function hasNumber(schema: JsonObject, key: string): boolean {
  return Number.isFinite(schema[key]);
}

function innerValues(schema: JsonObject, pointer: string): UnboundedValue[] {
  const inner: [string, unknown][] = [];
  for (const key of [...lists, ...singles]) {
    const value = schema[key];
    if (Array.isArray(value))
      inner.push(...value.map((item, index): [string, unknown] => [`${key}/${index}`, item]));
    else if (isObject(value)) inner.push([key, value]);
  }
  for (const key of maps) {
    const value = schema[key];
    if (isObject(value)) {
      inner.push(
        ...Object.entries(value).map(([name, item]): [string, unknown] => [`${key}/${escape(name)}`, item]),
      );
    }
  }
  return inner.flatMap(([step, item]) => findUnboundedValues(item, `${pointer}/${step}`));
}

function escape(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
