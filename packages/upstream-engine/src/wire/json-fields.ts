/** Looks into what an engine sent: a stranger's JSON, of which nothing is taken for granted. */

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  // Any object that is no list can be asked for its fields.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** None when one of them is no number. */
export function numbersOf(value: unknown): readonly number[] {
  const list = listOf(value);
  return list.every((each) => typeof each === "number") ? list : [];
}

/** A whole number from zero. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
