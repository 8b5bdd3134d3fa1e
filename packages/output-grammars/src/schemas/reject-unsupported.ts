import { isJsonObject } from "./json-values.ts";
import type { KeywordReader } from "./keyword-reader.ts";
import { unsupported } from "./schema-failure.ts";
import { isUnsupportedFormat } from "./text-formats.ts";

/** Whether each keyword, with its value, has no effect on what the grammar accepts. */
const isHarmlessByKeyword: Readonly<Record<string, (reader: KeywordReader) => boolean>> = {
  $dynamicRef: () => false,
  $recursiveRef: () => false,
  // An inner `$id` changes what "#" means below it.
  $id: ({ pointer }) => pointer === "#",
  not: (reader) => reader.value("not") === false,
  if: (reader) => !reader.has("then") && !reader.has("else"),
  contains: (reader) => reader.value("minContains") === 0 && !reader.has("maxContains"),
  dependencies: (reader) => isEmptyObject(reader.value("dependencies")),
  dependentRequired: (reader) => isEmptyObject(reader.value("dependentRequired")),
  dependentSchemas: (reader) => isEmptyObject(reader.value("dependentSchemas")),
  format: (reader) => !isUnsupportedFormat(reader.text("format") ?? ""),
  maxProperties: (reader) => {
    const maxProperties = reader.count("maxProperties") ?? 0;
    return reader.value("additionalProperties") === false && reader.properties().size <= maxProperties;
  },
  minProperties: (reader) => new Set(reader.texts("required")).size >= (reader.count("minProperties") ?? 0),
  multipleOf: () => false,
  patternProperties: (reader) => isEmptyObject(reader.value("patternProperties")),
  propertyNames: (reader) => isAlwaysTrue(reader.value("propertyNames")),
  unevaluatedItems: (reader) => isAlwaysTrue(reader.value("unevaluatedItems")),
  unevaluatedProperties: (reader) => isAlwaysTrue(reader.value("unevaluatedProperties")),
  uniqueItems: (reader) =>
    reader.value("uniqueItems") === false || (reader.count("maxItems") ?? Number.POSITIVE_INFINITY) <= 1,
};

export const unsupportedKeywords: readonly string[] = Object.keys(isHarmlessByKeyword);

/** Rejects keywords that affect validity but cannot be expressed exactly in a grammar. */
export function rejectUnsupported(reader: KeywordReader): void {
  for (const [keyword, isHarmless] of Object.entries(isHarmlessByKeyword)) {
    if (reader.has(keyword) && !isHarmless(reader)) throw unsupported(keyword, reader.pointer);
  }
}

function isEmptyObject(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function isAlwaysTrue(value: unknown): boolean {
  return value === true || isEmptyObject(value);
}
