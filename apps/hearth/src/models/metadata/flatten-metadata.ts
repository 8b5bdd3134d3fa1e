import type { Metadata, MetadataList, MetadataValue } from "@hearth-and-keep/gguf";

export type FlatValue = string | number | boolean | null | readonly FlatValue[];

/**
 * A header's keys and values as plain JSON values. Lists are null unless they are wanted: a vocabulary is megabytes.
 * A 64-bit number over 2^53 becomes a text, so that it is not rounded.
 */
export function flattenMetadata(metadata: Metadata, withLists: boolean): ReadonlyMap<string, FlatValue> {
  return new Map([...metadata].map(([key, value]) => [key, flatten(value, withLists)]));
}

function flatten({ type, value }: MetadataValue, withLists: boolean): FlatValue {
  if (typeof value === "object") return withLists ? flattenList(value) : null;
  if (typeof value === "bigint") return flattenWhole(value);
  return type === "float32" && typeof value === "number" ? shortest(value) : value;
}

function flattenList(list: MetadataList): readonly FlatValue[] {
  switch (list.kind) {
    case "strings":
      return [...list];
    case "booleans":
      return Array.from(list.values, (value) => value !== 0);
    case "lists":
      return list.values.map(flattenList);
    case "numbers":
      return Array.from(list.values as Iterable<number | bigint>, (value) => flattenNumber(list.type, value)); // A union of lists is a list of the union.
  }
}

function flattenNumber(type: string, value: number | bigint): FlatValue {
  if (typeof value === "bigint") return flattenWhole(value);
  return type === "float32" ? shortest(value) : value;
}

function flattenWhole(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** JSON has no infinities. A 32-bit number is told by the fewest digits that give it back, as in 0.00001. */
function shortest(value: number): FlatValue {
  if (!Number.isFinite(value)) return null;
  for (let digits = 1; digits <= 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}
