/** The value has no canonical form: a non-finite number, or a string that is not well-formed Unicode. */
export class CanonicalFormError extends Error {
  override readonly name = "CanonicalFormError";
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/**
 * Canonical JSON (RFC 8785): no white space, members sorted by the UTF-16 code units of their names, numbers and
 * strings as ECMAScript serialises them.
 */
export function canonicalJson(value: Json): string {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new CanonicalFormError(`Cannot represent ${value} in JSON`);
  }
  if (typeof value === "string") return writeString(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value)
    .toSorted(([first], [second]) => (first < second ? -1 : 1))
    .map(([name, member]) => `${writeString(name)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

function writeString(text: string): string {
  if (!text.isWellFormed()) throw new CanonicalFormError("Cannot represent a lone surrogate in JSON");
  return JSON.stringify(text);
}
