import type { JsonObject, JsonValue } from "../port/conversation.ts";

const longestList = 32;
const longestText = 64 * 1024;

/** A model file's keys as flat JSON: long lists, such as the vocabulary, become their length. */
export function plainMetadata(metadata: object, prefix = ""): JsonObject {
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([key, value]): [string, JsonValue][] => {
      const name = `${prefix}${key}`;
      if (isGroup(value)) return Object.entries(plainMetadata(value, `${name}.`));
      return [[name, plainValue(value)]];
    }),
  );
}

function isGroup(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

function plainValue(value: unknown): JsonValue {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string") return value.slice(0, longestText);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value))
    return value.length > longestList ? { length: value.length } : value.map(plainValue);
  return null;
}
