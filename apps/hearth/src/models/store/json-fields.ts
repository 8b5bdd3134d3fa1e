export type JsonFields = Readonly<Record<string, unknown>>;

/** The content has not the shape it must have; whoever knows whose content it is adds that. */
export class ShapeError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "ShapeError";
  }
}

export function parseFields(content: Uint8Array): JsonFields {
  return asFields(parseJson(content), "the content");
}

export function parseJson(content: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(content).toString("utf8"));
  } catch {
    throw new ShapeError("it is not JSON");
  }
}

export function asFields(value: unknown, what: string): JsonFields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ShapeError(`${what} is not an object`);
  }
  // An object that is neither null nor a list has fields of unknown values.
  return value as JsonFields;
}

/** Absent and null are the same, as in Go. */
export function textField(fields: JsonFields, key: string, longest: number): string | undefined {
  const value = fieldOf(fields, key);
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && value.length <= longest) return value;
  throw new ShapeError(`"${key}" is not a text of at most ${longest} characters`);
}

export function wholeField(fields: JsonFields, key: string, most: number): number | undefined {
  const value = fieldOf(fields, key);
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= most) return value;
  throw new ShapeError(`"${key}" is not a whole number from 0 to ${most}`);
}

export function listField(fields: JsonFields, key: string, most: number): readonly unknown[] {
  const value = fieldOf(fields, key);
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.length <= most) return value;
  throw new ShapeError(`"${key}" is not a list of at most ${most}`);
}

/** Texts of a list; anything else in it is refused. */
export function textListField(
  fields: JsonFields,
  key: string,
  { most, longest }: { readonly most: number; readonly longest: number },
): readonly string[] {
  return listField(fields, key, most).map((value) => {
    if (typeof value === "string" && value.length <= longest) return value;
    throw new ShapeError(`"${key}" holds more than texts of at most ${longest} characters`);
  });
}

function fieldOf(fields: JsonFields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}
