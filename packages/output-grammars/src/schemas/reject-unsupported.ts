import { isJsonObject } from "./json-values.ts";
import type { KeywordReader } from "./keyword-reader.ts";
import { unsupported } from "./schema-failure.ts";
import { isUnwritableFormat } from "./text-formats.ts";

/** Each says whether the keyword, as it stands, limits nothing that the grammar would let pass. */
const harmlessWhen: Readonly<Record<string, (reader: KeywordReader) => boolean>> = {
  $dynamicRef: () => false,
  $recursiveRef: () => false,
  // An inner `$id` changes what "#" means below it.
  $id: ({ place }) => place === "#",
  not: (reader) => reader.value("not") === false,
  if: (reader) => !reader.has("then") && !reader.has("else"),
  contains: (reader) => reader.value("minContains") === 0 && !reader.has("maxContains"),
  dependencies: (reader) => isWithoutMembers(reader.value("dependencies")),
  dependentRequired: (reader) => isWithoutMembers(reader.value("dependentRequired")),
  dependentSchemas: (reader) => isWithoutMembers(reader.value("dependentSchemas")),
  format: (reader) => !isUnwritableFormat(reader.text("format") ?? ""),
  maxProperties: (reader) => {
    const most = reader.count("maxProperties") ?? 0;
    return reader.value("additionalProperties") === false && reader.properties().size <= most;
  },
  minProperties: (reader) => new Set(reader.texts("required")).size >= (reader.count("minProperties") ?? 0),
  multipleOf: () => false,
  patternProperties: (reader) => isWithoutMembers(reader.value("patternProperties")),
  propertyNames: (reader) => isAlwaysTrue(reader.value("propertyNames")),
  unevaluatedItems: (reader) => isAlwaysTrue(reader.value("unevaluatedItems")),
  unevaluatedProperties: (reader) => isAlwaysTrue(reader.value("unevaluatedProperties")),
  uniqueItems: (reader) =>
    reader.value("uniqueItems") === false || (reader.count("maxItems") ?? Number.POSITIVE_INFINITY) <= 1,
};

export const unsupportedKeywords: readonly string[] = Object.keys(harmlessWhen);

/** Refuses what would change which documents are valid and has no exact grammar here. */
export function refuseUnsupported(reader: KeywordReader): void {
  for (const [keyword, isHarmless] of Object.entries(harmlessWhen)) {
    if (reader.has(keyword) && !isHarmless(reader)) throw unsupported(keyword, reader.place);
  }
}

function isWithoutMembers(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function isAlwaysTrue(value: unknown): boolean {
  return value === true || isWithoutMembers(value);
}
