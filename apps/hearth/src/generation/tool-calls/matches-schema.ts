import { isDeepStrictEqual } from "node:util";
import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import { isJsonObject } from "@hearth-and-keep/engine";
import { resolveReference, typeOfValue } from "./argument-schema.ts";

/** Schemas come from clients: a check that takes more is given up, and counts as passed. */
const maxSteps = 20_000;
const maxDepth = 200;

/**
 * Whether a value is valid for a JSON Schema, as far as that can be decided in bounded time. Patterns, formats and
 * keywords that no grammar enforces are not checked, and `oneOf` is like `anyOf`.
 */
export function matchesSchema(value: JsonValue, schema: JsonObject): boolean {
  return new SchemaMatcher(schema).matches(value, schema, 0);
}

class SchemaMatcher {
  readonly #root: JsonObject;
  #steps = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  matches(value: JsonValue, schema: unknown, depth: number): boolean {
    if (schema === false) return false;
    this.#steps += 1;
    if (!isJsonObject(schema) || this.#steps > maxSteps || depth > maxDepth) return true;
    return (
      hasType(value, schema["type"]) &&
      isListed(value, schema) &&
      this.#matchesOthers(value, schema, depth) &&
      this.#matchesContent(value, schema, depth)
    );
  }

  #matchesOthers(value: JsonValue, schema: JsonObject, depth: number): boolean {
    const { $ref: reference, allOf, anyOf, oneOf } = schema;
    const accepts = (option: unknown): boolean => this.matches(value, option, depth + 1);
    const target = typeof reference === "string" ? resolveReference(this.#root, reference) : undefined;
    return (
      accepts(target) &&
      listOf(allOf).every(accepts) &&
      [anyOf, oneOf].every((options) => !Array.isArray(options) || options.some(accepts))
    );
  }

  #matchesContent(value: JsonValue, schema: JsonObject, depth: number): boolean {
    if (typeof value === "number") return isWithin(value, schema);
    if (typeof value === "string")
      return isBetween(Array.from(value).length, schema["minLength"], schema["maxLength"]);
    if (Array.isArray(value)) return this.#matchesItems(value, schema, depth);
    return !isJsonObject(value) || this.#matchesFields(value, schema, depth);
  }

  #matchesItems(items: readonly JsonValue[], schema: JsonObject, depth: number): boolean {
    const prefix = listOf(schema["prefixItems"]);
    return (
      isBetween(items.length, schema["minItems"], schema["maxItems"]) &&
      items.every((item, index) => this.matches(item, prefix[index] ?? schema["items"], depth + 1))
    );
  }

  #matchesFields(fields: JsonObject, schema: JsonObject, depth: number): boolean {
    const { properties, additionalProperties: additional, patternProperties } = schema;
    const declared = isJsonObject(properties) ? properties : {};
    const hasRequired = listOf(schema["required"]).every(
      (name) => typeof name !== "string" || Object.hasOwn(fields, name),
    );
    // Which fields are additional then depends on patterns.
    const others = patternProperties === undefined ? additional : undefined;
    return (
      hasRequired &&
      Object.entries(fields).every(([name, field]) =>
        this.matches(field, Object.hasOwn(declared, name) ? declared[name] : others, depth + 1),
      )
    );
  }
}

function hasType(value: JsonValue, type: JsonValue | undefined): boolean {
  if (type === undefined) return true;
  const types = Array.isArray(type) ? type : [type];
  const own = typeOfValue(value);
  return types.includes(own) || (own === "integer" && types.includes("number"));
}

function isListed(value: JsonValue, { enum: listed, const: only }: JsonObject): boolean {
  const isOnly = only === undefined || isDeepStrictEqual(only, value);
  return isOnly && (!Array.isArray(listed) || listed.some((each) => isDeepStrictEqual(each, value)));
}

function isWithin(value: number, schema: JsonObject): boolean {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  return (
    isBetween(value, minimum, maximum) &&
    (typeof above !== "number" || value > above) &&
    (typeof below !== "number" || value < below)
  );
}

function isBetween(value: number, min: unknown, max: unknown): boolean {
  return (typeof min !== "number" || value >= min) && (typeof max !== "number" || value <= max);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
