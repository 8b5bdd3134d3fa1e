import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import { isJsonObject } from "@hearth-and-keep/engine";
import { toJsonText } from "./python-values.ts";

/** A subschema of a tool's parameters, in the document that its references point into; undefined if unknown. */
export type ArgumentSchema = { readonly root: JsonObject; readonly schema: unknown } | undefined;

/** Schemas come from clients, so the search through references and alternatives is bounded. */
const maxOptions = 64;

export function propertySchema(parent: ArgumentSchema, name: string): ArgumentSchema {
  return findBelow(parent, (option) => {
    const properties = option["properties"];
    const declared =
      isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
    return declared ?? option["additionalProperties"];
  });
}

export function itemSchema(parent: ArgumentSchema, index: number): ArgumentSchema {
  return findBelow(parent, (option) => {
    const prefix = option["prefixItems"];
    return (Array.isArray(prefix) ? prefix[index] : undefined) ?? option["items"];
  });
}

/** The types that a value may have; undefined if any. */
export function typesOf(argument: ArgumentSchema): ReadonlySet<string> | undefined {
  const options = listOptions(argument);
  if (options.some((option) => Object.keys(option).length === 0)) return undefined;
  const types = options.flatMap(({ type, enum: listed, const: only }): unknown[] => {
    if (type !== undefined) return [type].flat();
    const values = Array.isArray(listed) ? listed : [];
    return [...values, ...(only === undefined ? [] : [only])].map(typeOfValue);
  });
  const names = types.filter((type) => typeof type === "string");
  return names.length === 0 ? undefined : new Set(names);
}

export function isTextOnly(types: ReadonlySet<string> | undefined): boolean {
  return types?.size === 1 && types.has("string");
}

/** The JSON text of the value that a string spells, where the schema allows no string; undefined if it spells none. */
export function coerceText(text: string, types: ReadonlySet<string> | undefined): string | undefined {
  if (types === undefined || types.has("string")) return undefined;
  const bare = text.trim();
  const word = bare.toLowerCase();
  if (types.has("boolean") && (word === "true" || word === "false")) return word;
  if (types.has("null") && ["null", "none", ""].includes(word)) return "null";
  const parsed = parseBoundedJson(bare);
  if (typeof parsed === "number" && types.has("number")) return bare;
  if (typeof parsed === "number" && types.has("integer") && Number.isInteger(parsed)) return String(parsed);
  const isContainer = typeof parsed === "object" && parsed !== null;
  // Parsed JSON.
  return isContainer && types.has(typeOfValue(parsed as JsonValue)) ? bare : undefined;
}

/** A number or literal as a string, where the schema allows only a string. */
export function coerceScalar(json: string, types: ReadonlySet<string> | undefined): string {
  return types?.has("string") === true && !types.has(typeOfScalar(json, types)) ? JSON.stringify(json) : json;
}

/** Either of the two, for a complete value. */
export function coerceJson(json: string, types: ReadonlySet<string> | undefined): string {
  const parsed = json.startsWith('"') ? parseBoundedJson(json) : undefined;
  if (typeof parsed === "string") return coerceText(parsed, types) ?? json;
  return /^[[{]/u.test(json) ? json : coerceScalar(json, types);
}

/** Bare text as JSON, by the types that the schema allows. */
export function coerceLeaf(text: string, types: ReadonlySet<string> | undefined): string {
  if (isTextOnly(types)) return JSON.stringify(text);
  return coerceText(text, types) ?? coerceScalar(toJsonText(text), types);
}

function typeOfScalar(json: string, types: ReadonlySet<string>): string {
  if (json === "null") return "null";
  if (json === "true" || json === "false") return "boolean";
  if (json.startsWith('"')) return "string";
  return types.has("number") ? "number" : "integer";
}

function findBelow(parent: ArgumentSchema, find: (option: JsonObject) => unknown): ArgumentSchema {
  if (parent === undefined) return undefined;
  for (const option of listOptions(parent)) {
    const schema = find(option);
    if (isJsonObject(schema)) return { root: parent.root, schema };
  }
  return undefined;
}

/** The schema itself, and all that it refers to or combines. */
function listOptions(argument: ArgumentSchema): readonly JsonObject[] {
  if (argument === undefined) return [];
  const found: unknown[] = [argument.schema];
  for (let index = 0; index < found.length && found.length < maxOptions; index += 1) {
    const schema = found[index];
    if (!isJsonObject(schema)) continue;
    const target = schema["$ref"];
    if (typeof target === "string") found.push(resolveReference(argument.root, target));
    for (const keyword of ["anyOf", "oneOf", "allOf"]) {
      const options = schema[keyword];
      if (Array.isArray(options)) found.push(...options.slice(0, maxOptions));
    }
  }
  return found.filter(isJsonObject);
}

/** Only references within the document; undefined for any other. */
export function resolveReference(root: JsonObject, reference: string): unknown {
  if (reference === "#") return root;
  const segments = reference.startsWith("#/") ? reference.slice(2).split("/") : [];
  return segments.reduce((schema: unknown, segment) => {
    const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
    return isJsonObject(schema) && Object.hasOwn(schema, key) ? schema[key] : undefined;
  }, root);
}

export function typeOfValue(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
