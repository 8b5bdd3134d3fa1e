import type { JsonObject, JsonValue } from "@hearth-and-keep/engine";

/** A value of Go's, as far as a template can tell them apart. */
export type GoValue =
  | { readonly kind: "nil" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "whole"; readonly value: number }
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "truth"; readonly value: boolean }
  | GoList
  | GoMap
  | GoRecord;

type GoList = {
  readonly kind: "list";
  readonly items: readonly GoValue[];
  readonly printsAsJson?: boolean;
};

/** Keys are sorted wherever they are listed, as Go does. */
export type GoMap = {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, GoValue>;
  readonly printsAsJson?: boolean;
};

/** Go's struct: a field that it does not have is a mistake, not an empty value. */
export type GoRecord = {
  readonly kind: "record";
  readonly name: string;
  readonly fields: ReadonlyMap<string, GoValue>;
  /** Names and values as JSON has them; absent are those of the fields. */
  readonly written?: readonly (readonly [name: string, value: GoValue])[];
  readonly printsAsJson?: boolean;
  /** The JSON Schema that the record was made of. */
  readonly schema?: JsonObject;
};

export const nil: GoValue = { kind: "nil" };

export function textValue(text: string): GoValue {
  return { kind: "text", text };
}

export function wholeValue(value: number): GoValue {
  return { kind: "whole", value };
}

export function truthValue(value: boolean): GoValue {
  return { kind: "truth", value };
}

/** As Go reads JSON without a type: every number is a float. */
export function fromJson(value: JsonValue): GoValue {
  if (value === null) return nil;
  if (typeof value === "string") return textValue(value);
  if (typeof value === "number") return { kind: "float", value };
  if (typeof value === "boolean") return truthValue(value);
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
    case "text":
      return value.text !== "";
    case "whole":
    case "float":
      return value.value !== 0;
    case "truth":
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

/** What a reason calls it. */
export function nameKind(value: GoValue): string {
  return value.kind === "record" ? value.name : value.kind;
}
