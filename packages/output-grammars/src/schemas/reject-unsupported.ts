import { isExpressibleFactor } from "../automata/multiples.ts";
import { isJsonObject } from "./json-values.ts";
import type { KeywordReader } from "./keyword-reader.ts";
import { type Enforcement, leaveOut } from "./schema-failure.ts";
import { isUnsupportedFormat } from "./text-formats.ts";

/** Whether each keyword, with its value, has no effect on what the grammar accepts. */
const isHarmlessByKeyword: Readonly<Record<string, (reader: KeywordReader) => boolean>> = {
  $dynamicRef: () => false,
  $recursiveRef: () => false,
  // An inner `$id` changes what "#" means below it.
  $id: ({ pointer }) => pointer === "#",
  // A schema that nothing satisfies is read as `false`.
  not: (reader) => reader.value("not") === false || isAlwaysTrue(reader.value("not")),
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
  multipleOf: (reader) => isExpressibleFactor(reader.number("multipleOf") ?? 0),
  patternProperties: (reader) => isEmptyObject(reader.value("patternProperties")),
  propertyNames: (reader) =>
    acceptsEveryName(reader.value("propertyNames")) || listNames(reader.value("propertyNames")) !== undefined,
  unevaluatedItems: (reader) => isAlwaysTrue(reader.value("unevaluatedItems")),
  unevaluatedProperties: (reader) => isAlwaysTrue(reader.value("unevaluatedProperties")),
  uniqueItems: (reader) =>
    reader.value("uniqueItems") === false || (reader.count("maxItems") ?? Number.POSITIVE_INFINITY) <= 1,
};

export const unsupportedKeywords: readonly string[] = Object.keys(isHarmlessByKeyword);

/** Leaves out keywords that affect validity but cannot be expressed exactly in a grammar. */
export function rejectUnsupported(reader: KeywordReader, enforcement: Enforcement): void {
  for (const keyword of listUnsupported(reader)) leaveOut(enforcement, { keyword, pointer: reader.pointer });
}

export function listUnsupported(reader: KeywordReader): readonly string[] {
  return Object.entries(isHarmlessByKeyword)
    .filter(([keyword, isHarmless]) => reader.has(keyword) && !isHarmless(reader))
    .map(([keyword]) => keyword);
}

const maxNames = 200;

/** The names that `propertyNames` lists, if it does nothing else. */
export function listNames(propertyNames: unknown): readonly string[] | undefined {
  if (!isJsonObject(propertyNames)) return undefined;
  const { enum: listed, const: only, ...others } = propertyNames;
  const names = listed ?? (only === undefined ? undefined : [only]);
  const isList = Array.isArray(names) && names.every((name) => typeof name === "string");
  return isList && names.length <= maxNames && acceptsEveryName(others) ? names : undefined;
}

const annotations = new Set(["$comment", "$schema", "default", "description", "examples", "title"]);

/** A name is always a string, so that this type alone has no effect. */
function acceptsEveryName(schema: unknown): boolean {
  if (!isJsonObject(schema)) return schema === true;
  return Object.entries(schema).every(
    ([keyword, value]) =>
      annotations.has(keyword) || (keyword === "type" && [value].flat().includes("string")),
  );
}

function isEmptyObject(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

export function isAlwaysTrue(value: unknown): boolean {
  return value === true || isEmptyObject(value);
}
