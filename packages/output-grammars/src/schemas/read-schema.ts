import type { JsonValue } from "@hearth-and-keep/engine";
import { isExpressibleFactor } from "../automata/multiples.ts";
import { isJsonObject } from "./json-values.ts";
import { KeywordReader } from "./keyword-reader.ts";
import { listNames, rejectUnsupported } from "./reject-unsupported.ts";
import { type Enforcement, leaveOut, unsupported } from "./schema-failure.ts";
import type {
  Alternatives,
  ArrayLimits,
  LocatedSchema,
  NumberLimits,
  ObjectLimits,
  SchemaNode,
  TextLimits,
  TypeName,
} from "./schema-node.ts";

type ResolveReference = (reference: string, pointer: string) => LocatedSchema;

export type ReadContext = { readonly resolve: ResolveReference; readonly enforcement: Enforcement };

/** Larger lengths exceed any context, so they count as unlimited. */
const maxLength = 10_000_000;
const maxValues = 2000;

/** Reads one schema object; boolean schemas and subschemas are up to the caller. */
export function readSchema(located: LocatedSchema, { resolve, enforcement }: ReadContext): SchemaNode {
  const reader = new KeywordReader(located);
  rejectUnsupported(reader, enforcement);
  const types = reader.types();
  return {
    pointer: located.pointer,
    ...(types === undefined ? {} : { types }),
    impliedTypes: impliedTypes(reader),
    valueLists: readValues(reader, enforcement),
    also: [...readReference(reader, resolve), ...reader.schemas("allOf")],
    alternatives: readAlternatives(reader),
    text: readText(reader),
    number: readNumber(reader),
    object: readObject(reader),
    array: readArray(reader),
  };
}

const keywordsByType: readonly (readonly [TypeName, readonly string[]])[] = [
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
  ["object", ["properties", "required", "additionalProperties", "patternProperties", "propertyNames"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems"]],
];

function impliedTypes(reader: KeywordReader): ReadonlySet<TypeName> {
  return new Set(
    keywordsByType.filter(([, keywords]) => keywords.some((name) => reader.has(name))).map(([type]) => type),
  );
}

function readValues(reader: KeywordReader, enforcement: Enforcement): JsonValue[][] {
  // A schema is parsed JSON, so its values are JSON values.
  const values = reader.list("enum") as JsonValue[] | undefined;
  const isTooLong = values !== undefined && values.length > maxValues;
  if (isTooLong) leaveOut(enforcement, { keyword: "enum", pointer: reader.pointer });
  const constant = reader.has("const") ? [[reader.value("const") as JsonValue]] : []; // as above
  return values === undefined || isTooLong ? constant : [values, ...constant];
}

function readReference(reader: KeywordReader, resolve: ResolveReference): LocatedSchema[] {
  const reference = reader.text("$ref");
  return reference === undefined ? [] : [resolve(reference, reader.pointer)];
}

function readAlternatives(reader: KeywordReader): Alternatives[] {
  return (["anyOf", "oneOf"] as const) // the two names themselves, not any text
    .filter((keyword) => reader.has(keyword))
    .map((keyword) => ({ keyword, options: reader.schemas(keyword) }));
}

function readText(reader: KeywordReader): TextLimits {
  const pattern = reader.text("pattern");
  const format = reader.text("format");
  return {
    min: readMin(reader, "minLength"),
    max: readMax(reader, "maxLength"),
    ...(pattern === undefined ? {} : { pattern }),
    ...(format === undefined ? {} : { format }),
  };
}

function readMin(reader: KeywordReader, keyword: string): number {
  const min = reader.count(keyword) ?? 0;
  if (min > maxLength) throw unsupported(keyword, reader.pointer);
  return min;
}

function readMax(reader: KeywordReader, keyword: string): number {
  const max = reader.count(keyword) ?? Number.POSITIVE_INFINITY;
  return max > maxLength ? Number.POSITIVE_INFINITY : max;
}

function readNumber(reader: KeywordReader): NumberLimits {
  const limits: Record<string, number> = {};
  for (const keyword of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]) {
    const value = reader.number(keyword);
    if (value !== undefined) limits[keyword] = value;
  }
  const multipleOf = reader.number("multipleOf");
  if (multipleOf !== undefined && isExpressibleFactor(multipleOf)) limits["multipleOf"] = multipleOf;
  return limits;
}

function readObject(reader: KeywordReader): ObjectLimits {
  const additional = readAdditional(reader);
  const listed = listNames(reader.value("propertyNames"));
  const properties = reader.properties();
  const required = reader.texts("required");
  if (listed === undefined)
    return { properties, required, ...(additional === undefined ? {} : { additional }) };
  // Listed names are optional fields, and there are no others.
  const named = listed.map((name): [string, LocatedSchema] => {
    const anything = { schema: true, pointer: reader.pointer };
    return [name, properties.get(name) ?? additional ?? anything];
  });
  const none = { schema: false, pointer: `${reader.pointer}/propertyNames` };
  return { properties: new Map(named), required, additional: none };
}

/**
 * Without a grammar for the names that a pattern accepts, an undeclared field may have the value of any pattern. The
 * closed interpretation of `additionalProperties` must not reject them.
 */
function readAdditional(reader: KeywordReader): LocatedSchema | undefined {
  const additional = reader.schema("additionalProperties");
  const patterns = reader.value("patternProperties");
  const values = isJsonObject(patterns) ? Object.values(patterns) : [];
  if (values.length === 0) return additional;
  const others = additional === undefined || additional.schema === false ? [] : [additional.schema];
  return { schema: { anyOf: [...values, ...others] }, pointer: `${reader.pointer}/patternProperties` };
}

function readArray(reader: KeywordReader): ArrayLimits {
  // Before draft 2020-12, tuples were an array in `items`, and `additionalItems` was the schema of the rest.
  const isOldTuple = Array.isArray(reader.value("items"));
  const items = reader.schema(isOldTuple ? "additionalItems" : "items");
  return {
    prefix: reader.schemas(isOldTuple ? "items" : "prefixItems"),
    ...(items === undefined ? {} : { items }),
    min: readMin(reader, "minItems"),
    max: readMax(reader, "maxItems"),
  };
}
