import type { Metadata, MetadataList, MetadataValue } from "@hearth-and-keep/gguf";

export type FlatValue = string | number | boolean | null | readonly FlatValue[];

/** A list that is converted while it is written: a vocabulary has megabytes. */
export class LazyList {
  readonly items: Iterable<FlatValue>;

  constructor(items: Iterable<FlatValue>) {
    this.items = items;
  }
}

/**
 * A header's keys and values as plain JSON values. Lists are null unless requested. 64-bit integers above 2^53 become
 * strings, so that they are not rounded.
 */
export function flattenMetadata(
  metadata: Metadata,
  withLists: boolean,
): ReadonlyMap<string, FlatValue | LazyList> {
  return new Map([...metadata].map(([key, value]) => [key, flatten(value, withLists)]));
}

function flatten({ type, value }: MetadataValue, withLists: boolean): FlatValue | LazyList {
  if (typeof value === "object") return withLists ? new LazyList(flattenList(value)) : null;
  if (typeof value === "bigint") return flattenInteger(value);
  return type === "float32" && typeof value === "number" ? shortestFloat32(value) : value;
}

function* flattenList(list: MetadataList): Generator<FlatValue> {
  switch (list.kind) {
    case "strings":
      yield* list;
      break;
    case "booleans":
      for (const value of list.values) yield value !== 0;
      break;
    case "lists":
      for (const inner of list.values) yield [...flattenList(inner)];
      break;
    case "numbers":
      for (const value of list.values) yield flattenNumber(list.type, value);
      break;
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
