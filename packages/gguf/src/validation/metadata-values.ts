import { ModelFileError, type ModelFileErrorDetail, quote } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import type { MetadataList } from "../reading/value-kinds.ts";

/** Integers from `min` to `max`, inclusive. */
export type IntegerRange = { readonly min: number; readonly max: number };

export function rejectKey(
  key: string,
  message: string,
  kind: ModelFileErrorDetail["kind"] = "value-unusable",
): never {
  throw new ModelFileError({ kind, location: { key }, message });
}

/** The string value of a key; undefined if the key is absent. Any other type is rejected. */
export function findString(metadata: Metadata, key: string): string | undefined {
  const value = metadata.get(key)?.value;
  if (value === undefined || typeof value === "string") return value;
  return rejectKey(key, `The value of ${quote(key)} must be a string`);
}

export function findList(metadata: Metadata, key: string): MetadataList | undefined {
  const value = metadata.get(key)?.value;
  if (value === undefined || typeof value === "object") return value;
  return rejectKey(key, `The value of ${quote(key)} must be an array`);
}

/** An integer within its range; undefined if the key is absent. */
export function findInteger(metadata: Metadata, key: string, range: IntegerRange): number | undefined {
  const found = metadata.get(key);
  if (found === undefined) return undefined;
  const { value } = found;
  if (typeof value !== "number" && typeof value !== "bigint") {
    return rejectKey(key, `The value of ${quote(key)} must be a number`);
  }
  return checkInteger(key, value, range);
}

/** Checks a value that is either one integer for all layers or a list with one per layer. */
export function checkIntegers(
  metadata: Metadata,
  key: string,
  range: IntegerRange & { readonly maxLength: number },
): void {
  const value = metadata.get(key)?.value;
  if (typeof value !== "object") {
    findInteger(metadata, key, range);
    return;
  }
  if (value.kind === "booleans") return;
  if (value.kind !== "numbers" || value.length > range.maxLength) {
    return rejectKey(
      key,
      `The value of ${quote(key)} must be an array of at most ${range.maxLength} numbers`,
    );
  }
  for (const each of value.values) checkInteger(key, each, range);
}

function checkInteger(key: string, value: number | bigint, { min, max }: IntegerRange): number {
  if (value >= min && value <= max && (typeof value === "bigint" || Number.isInteger(value))) {
    return Number(value);
  }
  return rejectKey(
    key,
    `The value of ${quote(key)} is ${value}, but must be an integer from ${min} to ${max}`,
  );
}
