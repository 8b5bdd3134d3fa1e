import type { TextFile } from "./finding.ts";

export type JsonObject = { readonly [key: string]: unknown };

/** Parses a JSON file that must contain an object; errors name the file. */
export function readJson(file: TextFile): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(file.text);
  } catch (cause) {
    throw new Error(`Cannot parse "${file.path}" as JSON`, { cause });
  }
  if (!isObject(value)) throw new Error(`Cannot use "${file.path}": it does not contain a JSON object`);
  return value;
}

export function readJsonAt(files: readonly TextFile[], path: string): JsonObject | undefined {
  const file = files.find((candidate) => candidate.path === path);
  return file === undefined ? undefined : readJson(file);
}

export function objectAt(parent: JsonObject | undefined, key: string): JsonObject {
  const value = parent?.[key];
  return isObject(value) ? value : {};
}

export function stringAt(parent: JsonObject | undefined, key: string): string | undefined {
  const value = parent?.[key];
  return typeof value === "string" ? value : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
