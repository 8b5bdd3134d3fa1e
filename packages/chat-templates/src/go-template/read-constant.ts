import { TemplateError } from "../template-error.ts";
import type { Token } from "./tokens.ts";
import { type GoValue, textValue, wholeValue } from "./values.ts";

/** The value of a text, character or number as Go writes them; undefined for any other token. */
export function readConstant({ kind, text }: Token): GoValue | undefined {
  if (kind === "number") return readNumber(text);
  const inner = text.slice(1, -1);
  if (kind === "string") return textValue(unquote(inner));
  // Go leaves carriage returns out of raw texts.
  if (kind === "raw-string") return textValue(inner.replaceAll("\r", ""));
  return kind === "character" ? wholeValue(unquote(inner).codePointAt(0) ?? 0) : undefined;
}

function readNumber(text: string): GoValue {
  const plain = text.replaceAll("_", "");
  const digits = plain.replace(/^[+-]/u, "");
  const size = Number(/^0\d+$/u.test(digits) ? `0o${digits}` : digits);
  const value = plain.startsWith("-") ? -size : size;
  if (!Number.isFinite(value)) throw new TemplateError(`it has the number ${JSON.stringify(text)}`);
  if (/^0[xXbBoO]|^\d+$/u.test(digits)) {
    if (Number.isSafeInteger(value)) return wholeValue(value);
    throw new TemplateError(`it has the number ${text}, which is too large`);
  }
  // Go takes 1e3 for a whole number where one is wanted; templates print it as a float.
  return { kind: "float", value };
}

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
};

const escape =
  /\\(?:x(?<byte>[\da-fA-F]{2})|u(?<short>[\da-fA-F]{4})|U(?<long>[\da-fA-F]{8})|(?<octal>[0-7]{3})|(?<sign>.))/gsu;

function unquote(inner: string): string {
  if (!inner.includes("\\")) return inner;
  // Escaped bytes may be parts of one character, so everything is put together as bytes.
  const pieces: Buffer[] = [];
  let place = 0;
  for (const found of inner.matchAll(escape)) {
    pieces.push(Buffer.from(inner.slice(place, found.index)), readEscape(found));
    place = found.index + found[0].length;
  }
  pieces.push(Buffer.from(inner.slice(place)));
  return Buffer.concat(pieces).toString("utf8");
}

function readEscape({ 0: written, groups = {} }: RegExpMatchArray): Buffer {
  const { byte, short, long, octal, sign = "" } = groups;
  if (byte !== undefined) return Buffer.of(Number.parseInt(byte, 16));
  if (octal !== undefined) return Buffer.of(Number.parseInt(octal, 8) % 256);
  const point = short ?? long;
  if (point !== undefined)
    return Buffer.from(String.fromCodePoint(Math.min(Number.parseInt(point, 16), 0x10ffff)));
  const plain = Object.hasOwn(escapes, sign) ? escapes[sign] : undefined;
  if (plain === undefined) throw new TemplateError(`it has the escape ${JSON.stringify(written)} in a text`);
  return Buffer.from(plain);
}
