import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import type { Metadata, MetadataValue } from "@hearth-and-keep/gguf";

const longestList = 32;
const longestText = 64 * 1024;

/** A model file's keys as flat JSON: long lists, such as the vocabulary, become their length. */
export function plainMetadata(metadata: Metadata): JsonObject {
  return Object.fromEntries([...metadata].map(([key, { value }]) => [key, plainValue(value)]));
}

function plainValue(value: MetadataValue["value"]): JsonValue {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string") return value.slice(0, longestText);
  if (typeof value !== "object") return value;
  if (value.length > longestList) return { length: value.length };
  if (value.kind === "strings") return [...value];
  if (value.kind === "booleans") return [...value.values].map((each) => each !== 0);
  if (value.kind === "lists") return value.values.map(plainValue);
  return Array.from<number | bigint>(value.values).map(Number);
}
