import { ModelFileError, type ModelFileProblem, quote } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import type { MetadataList } from "../reading/value-kinds.ts";

/** Whole numbers from `least` to `most`. */
export type Range = { readonly least: number; readonly most: number };

export function refuseKey(
  key: string,
  sentence: string,
  kind: ModelFileProblem["kind"] = "value-unusable",
): never {
  throw new ModelFileError({ kind, place: { key }, sentence });
}

/** The text of a key, or undefined when the key is absent; another type is refused. */
export function findText(metadata: Metadata, key: string): string | undefined {
  const value = metadata.get(key)?.value;
  if (value === undefined || typeof value === "string") return value;
  return refuseKey(key, `The value of ${quote(key)} must be a text`);
}

export function findList(metadata: Metadata, key: string): MetadataList | undefined {
  const value = metadata.get(key)?.value;
  if (value === undefined || typeof value === "object") return value;
  return refuseKey(key, `The value of ${quote(key)} must be an array`);
}

/** A whole number within its range, or undefined when the key is absent. */
export function findWhole(metadata: Metadata, key: string, range: Range): number | undefined {
  const found = metadata.get(key);
  if (found === undefined) return undefined;
  const { value } = found;
  if (typeof value !== "number" && typeof value !== "bigint") {
    return refuseKey(key, `The value of ${quote(key)} must be a number`);
  }
  return checkWhole(key, value, range);
}

/** A whole number for all layers or a list with one for each; every one of them within the range. */
export function checkWholes(
  metadata: Metadata,
  key: string,
  range: Range & { readonly longest: number },
): void {
  const value = metadata.get(key)?.value;
  if (typeof value !== "object") {
    findWhole(metadata, key, range);
    return;
  }
  if (value.kind === "booleans") return;
  if (value.kind !== "numbers" || value.length > range.longest) {
    return refuseKey(key, `The value of ${quote(key)} must be at most ${range.longest} numbers`);
  }
  for (const each of value.values) checkWhole(key, each, range);
}

function checkWhole(key: string, value: number | bigint, { least, most }: Range): number {
  if (value >= least && value <= most && (typeof value === "bigint" || Number.isInteger(value))) {
    return Number(value);
  }
  return refuseKey(
    key,
    `The value of ${quote(key)} is ${value}, and must be a whole number from ${least} to ${most}`,
  );
}
