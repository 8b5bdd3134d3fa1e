export type NamedSchemas = {
  /** The value with a reference in place of each schema that has a title. */
  readonly value: unknown;
  /** Those schemas by title. */
  readonly schemas: Readonly<Record<string, object>>;
};

/** Moves schemas with a title to one place; two different ones with the same title are an error. */
export function nameSchemas(described: unknown): NamedSchemas {
  const schemas = new Map<string, { readonly text: string; readonly value: object }>();
  const replace = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value !== "object" || value === null) return value;
    if (!("title" in value) || typeof value.title !== "string") return replaceMembers(value);
    const { title, ...schema } = value;
    const named = replaceMembers(schema);
    const text = JSON.stringify(named);
    const known = schemas.get(title);
    if (known !== undefined && known.text !== text)
      throw new Error(`Cannot describe the API: two different schemas have the title "${title}"`);
    schemas.set(title, { text, value: named });
    return { $ref: `#/components/schemas/${title}` };
  };
  const replaceMembers = (value: object): object =>
    Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => name !== "x-expected")
        // Examples are values, not schemas.
        .map(([name, inner]) => [name, name === "example" ? inner : replace(inner)]),
    );
  const value = replace(described);
  return {
    value,
    schemas: Object.fromEntries(
      [...schemas]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([title, schema]) => [title, schema.value]),
    ),
  };
}
