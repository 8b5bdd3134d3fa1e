// llama.cpp counts, cuts and changes the case of bytes, not characters. To render the same prompt, text inside
// a template run is one character for each byte of its UTF-8.

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

/** What to take off, and from which ends. */
export type Stripping = { readonly start: boolean; readonly end: boolean; readonly characters?: string };

export function strip(text: string, { start, end, characters = " \t\n\v\f\r" }: Stripping): string {
  let from = 0;
  let to = text.length;
  if (start) while (from < to && characters.includes(text.charAt(from))) from += 1;
  if (end) while (to > from && characters.includes(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
}
