import type { JsonValue } from "@hearth-and-keep/engine";
import type { TypeName } from "./schema-node.ts";

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same text for equal values, independent of the order of their keys. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}:${canonicalText(member)}`,
  );
  return `{${members.toSorted().join()}}`;
}

export function typesOfValue(value: JsonValue): readonly TypeName[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  if (typeof value === "number") return Number.isInteger(value) ? ["integer", "number"] : ["number"];
  if (typeof value === "string") return ["string"];
  return typeof value === "boolean" ? ["boolean"] : ["object"];
}
