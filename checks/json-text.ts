import type { TextFile } from "./finding.ts";

export type JsonObject = { readonly [key: string]: unknown };

/** The object a JSON file holds; anything else is an error that names the file. */
export function readJson(file: TextFile): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(file.text);
  } catch (problem) {
    throw new Error(`Cannot read "${file.path}" as JSON`, { cause: problem });
  }
  if (!isObject(value)) throw new Error(`Cannot use "${file.path}": it holds no JSON object`);
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
