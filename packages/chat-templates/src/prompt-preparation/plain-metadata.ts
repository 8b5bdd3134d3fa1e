import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";
import type { Metadata, MetadataValue } from "@hearth-and-keep/gguf";

const maxListLength = 32;
const maxTextLength = 64 * 1024;

/** Converts a model file's metadata to flat JSON; long lists such as the vocabulary are replaced by their length. */
export function plainMetadata(metadata: Metadata): JsonObject {
  return Object.fromEntries([...metadata].map(([key, { value }]) => [key, plainValue(value)]));
}

function plainValue(value: MetadataValue["value"]): JsonValue {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string") return value.slice(0, maxTextLength);
  if (typeof value !== "object") return value;
  if (value.length > maxListLength) return { length: value.length };
  if (value.kind === "strings") return [...value];
  if (value.kind === "booleans") return [...value.values].map((each) => each !== 0);
  if (value.kind === "lists") return value.values.map(plainValue);
  return Array.from<number | bigint>(value.values).map(Number);
}
