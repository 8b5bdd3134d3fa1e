import { Transform } from "node:stream";

export const maskText = "[hidden]";
/** Shorter values are too common to be masked, e.g. "1" and "true". */
const minCharacters = 4;
/** Lines of longer values are masked by themselves, because programs print them one at a time. */
const minLineCharacters = 8;

/**
 * Replaces values in the output of a program, byte by byte, also where they are split over several writes, in base64, in a
 * URL, or in JSON. What may be the beginning of a value is held back until the next write decides. Does not find a value
 * that the program has transformed in another way. A function returns another list when there are more values.
 */
export function createMask(values: readonly string[] | (() => readonly string[])): () => Transform {
  const currentPatterns =
    typeof values === "function" ? followPatterns(values) : constant(patternsFor(values));
  return () => {
    let held = "";
    return new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const patterns = currentPatterns();
        const text = held + chunk.toString("latin1");
        // A match that a longer pattern could still extend is held back with it.
        const end = text.length - longestOpenEnd(text, patterns);
        const { output, rest } = maskUntil(text, end, patterns);
        held = rest;
        done(null, Buffer.from(output, "latin1"));
      },
      flush(done) {
        done(null, Buffer.from(maskUntil(held, held.length, currentPatterns()).output, "latin1"));
      },
    });
  };
}

/** The same for bytes that are complete. */
export function maskWhole(values: readonly string[], bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  return Buffer.from(maskUntil(text, text.length, patternsFor(values)).output, "latin1");
}

function constant<Value>(value: Value): () => Value {
  return () => value;
}

function followPatterns(values: () => readonly string[]): () => readonly string[] {
  let known: readonly string[] | undefined;
  let patterns: readonly string[] = [];
  return () => {
    const current = values();
    if (current !== known) patterns = patternsFor(current);
    known = current;
    return patterns;
  };
}

/** In Latin-1, in which a character is a byte; longest first, so that a value hides the shorter ones in it. */
function patternsFor(values: readonly string[]): readonly string[] {
  const texts = values
    .flatMap((value) => [value, ...longLines(value)])
    .filter((text) => text.length >= minCharacters);
  const patterns = new Set(texts.flatMap(writtenForms).map((form) => Buffer.from(form).toString("latin1")));
  return [...patterns].toSorted((one, other) => other.length - one.length);
}

function longLines(value: string): readonly string[] {
  const lines = value.split(/\r?\n/u);
  return lines.length === 1 ? [] : lines.filter((line) => line.length >= minLineCharacters);
}

/** As programs write the value. */
function writtenForms(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  const addresses = addressForms(text);
  return [
    text,
    text.replaceAll("\n", "\r\n"),
    ...base64Forms(bytes),
    ...addresses,
    ...addresses.map((form) => form.replaceAll(/%[0-9A-F]{2}/gu, (escape) => escape.toLowerCase())),
    ...jsonForms(text),
    escapeHtml(text),
    escapeHtml(text).replaceAll("/", "&#x2F;").replaceAll("=", "&#x3D;"),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ];
}

/** Which characters stay as they are differs between languages. */
function addressForms(text: string): readonly string[] {
  const encoded = encodeURIComponent(text.toWellFormed());
  const strict = encoded.replaceAll(
    /[!'()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return [encoded, strict].flatMap((form) => [
    form,
    form.replaceAll("%20", "+"),
    form.replaceAll("%2F", "/"),
  ]);
}

/** Some languages escape a slash, characters of HTML, or all characters that are not ASCII. */
function jsonForms(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1);
  return [
    json,
    json.replaceAll("/", "\\/"),
    escapeCharacters(json, /[<>&\u2028\u2029]/gu),
    escapeCharacters(json, /[^\0-\u007F]/g),
    escapeCharacters(json, /[<>&]|[^\0-\u007F]/g).replaceAll("/", "\\/"),
  ];
}

function escapeCharacters(json: string, which: RegExp): string {
  return json.replaceAll(
    which,
    (character) => String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/**
 * The characters that depend on these bytes alone, at each of the three positions within a longer text, e.g. `user:value`
 * of HTTP Basic authentication.
 */
function base64Forms(bytes: Buffer): readonly string[] {
  const forms = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/u, "");
    const start = [0, 2, 3][before] ?? 0;
    const isWhole = (before + bytes.length) % 3 === 0;
    return text.slice(start, isWhole ? undefined : -1);
  });
  return [...forms, ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))].filter(
    (form) => form.length >= minCharacters,
  );
}

/** Masks the matches that begin before the end. */
function maskUntil(
  text: string,
  end: number,
  patterns: readonly string[],
): { readonly output: string; readonly rest: string } {
  let output = "";
  let position = 0;
  while (position < end) {
    const match = firstMatch(text, position, patterns);
    if (match === undefined || match.at >= end) {
      output += text.slice(position, end);
      return { output, rest: text.slice(end) };
    }
    output += text.slice(position, match.at) + maskText;
    position = match.at + match.length;
  }
  return { output, rest: text.slice(position) };
}

function firstMatch(text: string, from: number, patterns: readonly string[]) {
  let first: { readonly at: number; readonly length: number } | undefined;
  for (const pattern of patterns) {
    const at = text.indexOf(pattern, from);
    if (at !== -1 && (first === undefined || at < first.at)) first = { at, length: pattern.length };
  }
  return first;
}

/** How many characters at the end may be the beginning of a pattern. */
function longestOpenEnd(text: string, patterns: readonly string[]): number {
  return Math.max(0, ...patterns.map((pattern) => openEnd(text, pattern)));
}

/** The longest end of the text that begins the pattern, by the failure function of Knuth, Morris and Pratt. */
function openEnd(text: string, pattern: string): number {
  const tail = text.slice(-(pattern.length - 1));
  const failures = failuresOf(pattern);
  let matched = 0;
  for (const character of pattern.length === 1 ? "" : tail) {
    while (matched > 0 && character !== pattern[matched]) matched = failures[matched - 1] ?? 0;
    if (character === pattern[matched]) matched += 1;
  }
  return matched;
}

const knownFailures = new Map<string, readonly number[]>();

function failuresOf(pattern: string): readonly number[] {
  const known = knownFailures.get(pattern);
  if (known !== undefined) return known;
  const failures = [0];
  let matched = 0;
  for (const character of pattern.slice(1)) {
    while (matched > 0 && character !== pattern[matched]) matched = failures[matched - 1] ?? 0;
    if (character === pattern[matched]) matched += 1;
    failures.push(matched);
  }
  knownFailures.set(pattern, failures);
  return failures;
}
