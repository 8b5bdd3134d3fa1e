import type { Static } from "typebox";
import { Check } from "typebox/value";
import type { Field } from "./schema.ts";

export type TomlTable = Readonly<Record<string, unknown>>;

/** Collects every error in the file, e.g. `"models.qwen3.speed" is not a setting`. */
export type ReportError = (path: string, message: string) => void;

type Fields = Readonly<Record<string, Field>>;

export type TableValues<Schemas extends Fields> = {
  readonly [Key in keyof Schemas]?: Static<Schemas[Key]["schema"]>;
};

/** The valid fields of a table; unknown and invalid fields are reported and left out. */
export function readTable<Schemas extends Fields>(
  table: TomlTable,
  fields: Schemas,
  report: ReportError,
): TableValues<Schemas> {
  const valid = Object.entries(table).filter(([key, value]) => {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field !== undefined && Check(field.schema, value)) return true;
    report(key, field?.message ?? "is not a setting");
    return false;
  });
  // Every remaining value was checked against the schema of its field.
  return Object.fromEntries(valid) as TableValues<Schemas>;
}

/** TOML's only objects are tables and dates, and dates have no fields. */
export function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A reporter for the fields of a nested table; the path "" stands for the table itself. */
export function below(report: ReportError, parent: string): ReportError {
  return (path, message) => report(path === "" ? parent : `${parent}.${path}`, message);
}
