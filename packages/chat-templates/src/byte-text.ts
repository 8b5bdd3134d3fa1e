// llama.cpp counts, slices and changes the case of bytes, not of characters. To render the same prompts, strings inside
// a
// template run have one character per UTF-8 byte.

const asciiOnly = /^[\0-\x7f]*$/u;

export function toByteText(text: string): string {
  return asciiOnly.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

export function fromByteText(text: string): string {
  return asciiOnly.test(text) ? text : Buffer.from(text, "latin1").toString("utf8");
}

export function toUpper(text: string): string {
  return text.replaceAll(/[a-z]+/gu, (letters) => letters.toUpperCase());
}

export function toLower(text: string): string {
  return text.replaceAll(/[A-Z]+/gu, (letters) => letters.toLowerCase());
}

/** Which characters to strip, and from which ends. */
export type StripOptions = { readonly start: boolean; readonly end: boolean; readonly characters?: string };

export function strip(text: string, { start, end, characters = " \t\n\v\f\r" }: StripOptions): string {
  let from = 0;
  let to = text.length;
  if (start) while (from < to && characters.includes(text.charAt(from))) from += 1;
  if (end) while (to > from && characters.includes(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
}
