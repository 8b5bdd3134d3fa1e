import type { Metadata, MetadataList, MetadataValue } from "@hearth-and-keep/gguf";

export type FlatValue = string | number | boolean | null | readonly FlatValue[];

/**
 * A header's keys and values as plain JSON values. Lists are null unless requested, because a vocabulary has megabytes.
 * 64-bit integers above 2^53 become strings, so that they are not rounded.
 */
export function flattenMetadata(metadata: Metadata, withLists: boolean): ReadonlyMap<string, FlatValue> {
  return new Map([...metadata].map(([key, value]) => [key, flatten(value, withLists)]));
}

function flatten({ type, value }: MetadataValue, withLists: boolean): FlatValue {
  if (typeof value === "object") return withLists ? flattenList(value) : null;
  if (typeof value === "bigint") return flattenInteger(value);
  return type === "float32" && typeof value === "number" ? shortestFloat32(value) : value;
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
  if (typeof value === "bigint") return flattenInteger(value);
  return type === "float32" ? shortestFloat32(value) : value;
}

function flattenInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** The fewest digits that round-trip to the same float32, e.g. 0.00001; null for infinities, which JSON lacks. */
function shortestFloat32(value: number): FlatValue {
  if (!Number.isFinite(value)) return null;
  for (let digits = 1; digits <= 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}
