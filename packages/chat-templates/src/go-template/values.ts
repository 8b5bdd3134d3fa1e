import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";

/** A Go value, as far as templates can distinguish them. */
export type GoValue =
  | { readonly kind: "nil" }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "integer"; readonly value: number }
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "boolean"; readonly value: boolean }
  | GoList
  | GoMap
  | GoRecord;

type GoList = {
  readonly kind: "list";
  readonly items: readonly GoValue[];
  readonly printsAsJson?: boolean;
};

/** Keys are always listed in sorted order, as in Go. */
export type GoMap = {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, GoValue>;
  readonly printsAsJson?: boolean;
};

/** A Go struct: accessing an unknown field is an error and does not return an empty value. */
export type GoRecord = {
  readonly kind: "record";
  readonly name: string;
  readonly fields: ReadonlyMap<string, GoValue>;
  /** Names and values for JSON; by default those of `fields`. */
  readonly jsonFields?: readonly (readonly [name: string, value: GoValue])[];
  readonly printsAsJson?: boolean;
  /** The JSON Schema that the record was created from. */
  readonly schema?: JsonObject;
};

export const nil: GoValue = { kind: "nil" };

export function stringValue(text: string): GoValue {
  return { kind: "string", text };
}

export function integerValue(value: number): GoValue {
  return { kind: "integer", value };
}

export function booleanValue(value: boolean): GoValue {
  return { kind: "boolean", value };
}

/** Like Go's untyped JSON decoding: every number is a float. */
export function fromJson(value: JsonValue): GoValue {
  if (value === null) return nil;
  if (typeof value === "string") return stringValue(value);
  if (typeof value === "number") return { kind: "float", value };
  if (typeof value === "boolean") return booleanValue(value);
  if (isList(value)) return { kind: "list", items: value.map(fromJson) };
  const entries = Object.entries(value).map(([key, inner]) => [key, fromJson(inner)] as const);
  return { kind: "map", entries: new Map(entries) };
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export function isTrue(value: GoValue): boolean {
  switch (value.kind) {
    case "nil":
      return false;
    case "string":
      return value.text !== "";
    case "integer":
    case "float":
      return value.value !== 0;
    case "boolean":
      return value.value;
    case "list":
      return value.items.length > 0;
    case "map":
      return value.entries.size > 0;
    case "record":
      return true;
  }
}

export function sortedEntries({ entries }: GoMap): readonly (readonly [key: string, value: GoValue])[] {
  return [...entries].toSorted(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

/** The name of a value's type in error messages. */
export function describeKind(value: GoValue): string {
  return value.kind === "record" ? value.name : value.kind;
}
