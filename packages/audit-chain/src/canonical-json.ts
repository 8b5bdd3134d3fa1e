/** A value that has no canonical form: a number JSON cannot write, or text that is not Unicode. */
export class CanonicalFormError extends Error {
  override readonly name = "CanonicalFormError";
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/**
 * JSON in its one canonical form (RFC 8785): no white space, members sorted by the UTF-16 units of their names,
 * numbers and texts as ECMAScript writes them.
 */
export function canonicalJson(value: Json): string {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new CanonicalFormError(`Cannot write ${value} in JSON`);
  }
  if (typeof value === "string") return writeText(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value)
    .toSorted(([first], [second]) => (first < second ? -1 : 1))
    .map(([name, member]) => `${writeText(name)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

function writeText(text: string): string {
  if (!text.isWellFormed()) throw new CanonicalFormError("Cannot write half a surrogate pair in JSON");
  return JSON.stringify(text);
}
