import type { JsonValue } from "@hearth-and-keep/engine";
import { KeywordReader } from "./keyword-reader.ts";
import { refuseUnsupported } from "./reject-unsupported.ts";
import { unsupported } from "./schema-failure.ts";
import type {
  Alternatives,
  ArrayLimits,
  Located,
  NumberLimits,
  ObjectLimits,
  SchemaNode,
  TextLimits,
  TypeName,
} from "./schema-node.ts";

export type ResolveReference = (reference: string, place: string) => Located;

/** Larger lengths are beyond what any context holds, so nothing is lost by counting them as unlimited. */
const longestLength = 10_000_000;
const mostValues = 2000;

/** Reads one schema object; `true`, `false` and what lies below it are left to the caller. */
export function readSchema(located: Located, resolve: ResolveReference): SchemaNode {
  const reader = new KeywordReader(located);
  refuseUnsupported(reader);
  const types = reader.types();
  return {
    place: located.place,
    ...(types === undefined ? {} : { types }),
    impliedTypes: impliedTypes(reader),
    valueLists: readValues(reader),
    also: [...readReference(reader, resolve), ...reader.schemas("allOf")],
    alternatives: readAlternatives(reader),
    text: readText(reader),
    number: readNumber(reader),
    object: readObject(reader),
    array: readArray(reader),
  };
}

const speakingKeywords: readonly (readonly [TypeName, readonly string[]])[] = [
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]],
  ["object", ["properties", "required", "additionalProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems"]],
];

function impliedTypes(reader: KeywordReader): ReadonlySet<TypeName> {
  return new Set(
    speakingKeywords
      .filter(([, keywords]) => keywords.some((name) => reader.has(name)))
      .map(([type]) => type),
  );
}

function readValues(reader: KeywordReader): JsonValue[][] {
  // A schema is a parsed JSON document, so its values are JSON values.
  const values = reader.list("enum") as JsonValue[] | undefined;
  if (values !== undefined && values.length > mostValues) throw unsupported("enum", reader.place);
  const constant = reader.has("const") ? [[reader.value("const") as JsonValue]] : []; // as above
  return values === undefined ? constant : [values, ...constant];
}

function readReference(reader: KeywordReader, resolve: ResolveReference): Located[] {
  const reference = reader.text("$ref");
  return reference === undefined ? [] : [resolve(reference, reader.place)];
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
    least: readLeast(reader, "minLength"),
    most: readMost(reader, "maxLength"),
    ...(pattern === undefined ? {} : { pattern }),
    ...(format === undefined ? {} : { format }),
  };
}

function readLeast(reader: KeywordReader, keyword: string): number {
  const least = reader.count(keyword) ?? 0;
  if (least > longestLength) throw unsupported(keyword, reader.place);
  return least;
}

function readMost(reader: KeywordReader, keyword: string): number {
  const most = reader.count(keyword) ?? Number.POSITIVE_INFINITY;
  return most > longestLength ? Number.POSITIVE_INFINITY : most;
}

function readNumber(reader: KeywordReader): NumberLimits {
  const limits: Record<string, number> = {};
  for (const keyword of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]) {
    const value = reader.number(keyword);
    if (value !== undefined) limits[keyword] = value;
  }
  return limits;
}

function readObject(reader: KeywordReader): ObjectLimits {
  const additional = reader.schema("additionalProperties");
  return {
    properties: reader.properties(),
    required: reader.texts("required"),
    ...(additional === undefined ? {} : { additional }),
  };
}

function readArray(reader: KeywordReader): ArrayLimits {
  // Before draft 2020-12 a list under `items` was the tuple, and `additionalItems` what follows it.
  const isOldTuple = Array.isArray(reader.value("items"));
  const items = reader.schema(isOldTuple ? "additionalItems" : "items");
  return {
    prefix: reader.schemas(isOldTuple ? "items" : "prefixItems"),
    ...(items === undefined ? {} : { items }),
    least: readLeast(reader, "minItems"),
    most: readMost(reader, "maxItems"),
  };
}
