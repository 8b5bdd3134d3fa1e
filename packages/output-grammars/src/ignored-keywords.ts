import { FailureError } from "@hearth-and-keep/failures";
import { NotExpressibleError } from "./automata/automaton.ts";
import { readPattern } from "./automata/read-pattern.ts";
import { isJsonObject } from "./schemas/json-values.ts";
import { KeywordReader } from "./schemas/keyword-reader.ts";
import { listUnsupported } from "./schemas/reject-unsupported.ts";
import { patternOfFormat } from "./schemas/text-formats.ts";

/** As many subschemas as a grammar may have. */
const maxSchemas = 5000;

/**
 * The keywords of a lenient schema that its grammar does not enforce, sorted and each once. Considers every subschema
 * by itself and in linear time; a limit that only shows when the grammar is built is not found.
 */
export function listIgnoredKeywords(root: unknown): readonly string[] {
  const found = new Set<string>();
  const schemas: unknown[] = [root];
  for (let index = 0; index < schemas.length && index < maxSchemas; index += 1) {
    const schema = schemas[index];
    if (!isJsonObject(schema)) continue;
    for (const keyword of listIgnored(schema, index === 0 ? "#" : "#/")) found.add(keyword);
    schemas.push(...listSubschemas(schema).slice(0, maxSchemas));
  }
  return [...found].toSorted();
}

function listIgnored(schema: Readonly<Record<string, unknown>>, pointer: string): readonly string[] {
  const { pattern, format } = schema;
  const isLeftToFormat = typeof format === "string" && patternOfFormat(format) !== undefined;
  const ignored =
    typeof pattern === "string" && !isLeftToFormat && !isExpressible(pattern) ? ["pattern"] : [];
  return [...listWithoutGrammar(schema, pointer), ...ignored];
}

/** A keyword of the wrong type is rejected when the grammar is built. */
function listWithoutGrammar(schema: unknown, pointer: string): readonly string[] {
  try {
    return listUnsupported(new KeywordReader({ schema, pointer }));
  } catch (error) {
    if (error instanceof FailureError) return [];
    throw error;
  }
}

function isExpressible(pattern: string): boolean {
  try {
    readPattern(pattern);
    return true;
  } catch (error) {
    if (error instanceof NotExpressibleError) return false;
    throw error;
  }
}

const mapKeywords = ["properties", "patternProperties", "$defs", "definitions"];
const schemaKeywords = ["items", "additionalProperties", "additionalItems"];
const listKeywords = ["items", "prefixItems", "allOf", "anyOf", "oneOf"];

function listSubschemas(schema: Readonly<Record<string, unknown>>): readonly unknown[] {
  const own = (keyword: string): unknown => (Object.hasOwn(schema, keyword) ? schema[keyword] : undefined);
  return [
    ...mapKeywords.map(own).flatMap((value) => (isJsonObject(value) ? Object.values(value) : [])),
    ...schemaKeywords.map(own),
    ...listKeywords.map(own).flatMap((value) => (Array.isArray(value) ? value : [])),
  ];
}
