import { TemplateError } from "../template-error.ts";
import type { Token } from "./tokens.ts";
import { type GoValue, integerValue, stringValue } from "./values.ts";

/** The value of a string, character or number literal; undefined for any other token. */
export function readConstant({ kind, text }: Token): GoValue | undefined {
  if (kind === "number") return readNumber(text);
  const inner = text.slice(1, -1);
  if (kind === "string") return stringValue(unquote(inner));
  // Go drops carriage returns from raw strings.
  if (kind === "raw-string") return stringValue(inner.replaceAll("\r", ""));
  return kind === "character" ? integerValue(unquote(inner).codePointAt(0) ?? 0) : undefined;
}

function readNumber(text: string): GoValue {
  const plain = text.replaceAll("_", "");
  const digits = plain.replace(/^[+-]/u, "");
  const magnitude = Number(/^0\d+$/u.test(digits) ? `0o${digits}` : digits);
  const value = plain.startsWith("-") ? -magnitude : magnitude;
  if (!Number.isFinite(value)) throw new TemplateError(`invalid number ${JSON.stringify(text)}`);
  if (/^0[xXbBoO]|^\d+$/u.test(digits)) {
    if (Number.isSafeInteger(value)) return integerValue(value);
    throw new TemplateError(`number ${text} is too large`);
  }
  // Go accepts 1e3 where an integer is expected; templates print it as a float.
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
  /\\(?:x(?<byte>[\da-fA-F]{2})|u(?<short>[\da-fA-F]{4})|U(?<long>[\da-fA-F]{8})|(?<octal>[0-7]{3})|(?<letter>.))/gsu;

function unquote(inner: string): string {
  if (!inner.includes("\\")) return inner;
  // Several escaped bytes can form one character, so the string is assembled as bytes.
  const chunks: Buffer[] = [];
  let position = 0;
  for (const found of inner.matchAll(escape)) {
    chunks.push(Buffer.from(inner.slice(position, found.index)), readEscape(found));
    position = found.index + found[0].length;
  }
  chunks.push(Buffer.from(inner.slice(position)));
  return Buffer.concat(chunks).toString("utf8");
}

function readEscape({ 0: sequence, groups = {} }: RegExpMatchArray): Buffer {
  const { byte, short, long, octal, letter = "" } = groups;
  if (byte !== undefined) return Buffer.of(Number.parseInt(byte, 16));
  if (octal !== undefined) return Buffer.of(Number.parseInt(octal, 8) % 256);
  const point = short ?? long;
  if (point !== undefined)
    return Buffer.from(String.fromCodePoint(Math.min(Number.parseInt(point, 16), 0x10ffff)));
  const plain = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
  if (plain === undefined) throw new TemplateError(`invalid escape ${JSON.stringify(sequence)} in a string`);
  return Buffer.from(plain);
}
