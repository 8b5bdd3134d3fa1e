/** Reads of values whose shape an engine decides: what is not as it should be is undefined, never believed. */
export function fieldOf(value: unknown, name: string): unknown {
  // An object of any kind may be asked for a field; nothing is assumed about what comes.
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export function numberOf(value: unknown, name: string): number | undefined {
  const field = fieldOf(value, name);
  return typeof field === "number" && Number.isFinite(field) ? field : undefined;
}

export function textOf(value: unknown, name: string): string | undefined {
  const field = fieldOf(value, name);
  return typeof field === "string" ? field : undefined;
}

export function listOf(value: unknown, name: string): readonly unknown[] {
  const field = fieldOf(value, name);
  return Array.isArray(field) ? field : [];
}

export function numbersOf(value: unknown, name: string): readonly number[] {
  const list = listOf(value, name);
  return list.every((each) => typeof each === "number") ? list : [];
}
