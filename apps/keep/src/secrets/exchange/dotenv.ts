import { decodeUtf8, type FileContent, type FileEntry, invalidFile, keepLast } from "./file-entries.ts";

/**
 * Parses a `.env` file by the grammar in docs/keep/exchange-formats.md: what dotenv, docker compose and sh agree on, and
 * strict where they do not. Nothing is expanded.
 */
export function readDotenv(content: string): FileContent {
  // As in dotenv, line endings are normalized; a significant carriage return is written as \r in double quotes.
  const text = content.replace(/^\uFEFF/u, "").replaceAll(/\r\n?/gu, "\n");
  const entries: FileEntry[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = skipBlankLine(text, at);
    if (rest !== undefined) {
      at = rest;
      continue;
    }
    const { name, valueAt } = readName(text, at);
    const { value, end } = readValue(text, valueAt);
    entries.push({ segments: [name], type: "text", bytes: Buffer.from(value, "utf8") });
    at = end;
  }
  return keepLast(entries);
}

/** Throws with the path of every secret that a `.env` file cannot represent. */
export function writeDotenv(entries: readonly FileEntry[]): string {
  const seen = new Set<string>();
  const errors: { field: string; reason: string }[] = [];
  const lines = entries.map(({ segments, type, bytes }) => {
    const name = segments.at(-1) ?? "";
    const text = type === "text" || type === "json" ? decodeUtf8(bytes) : undefined;
    const reason = exportError(name, text, seen);
    if (reason !== undefined) errors.push({ field: `/${segments.join("/")}`, reason });
    seen.add(name);
    return `${name}=${quote(text ?? "")}\n`;
  });
  if (errors.length > 0) throw invalidFile(errors);
  return lines.join("");
}

const blankLine = /[ \t]*(?:#[^\n]*)?(?:\n|$)/uy;
const nameAndEquals = /[ \t]*(?:export[ \t]+)?(?<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/uy;
const environmentName = /^[A-Za-z_][A-Za-z0-9_]*$/u;
const restOfLine = /[^\n]*/uy;

function skipBlankLine(text: string, at: number): number | undefined {
  blankLine.lastIndex = at;
  return blankLine.test(text) ? blankLine.lastIndex : undefined;
}

function readName(text: string, at: number): { readonly name: string; readonly valueAt: number } {
  nameAndEquals.lastIndex = at;
  const name = nameAndEquals.exec(text)?.groups?.["name"];
  if (name === undefined)
    throw invalidLine(text, at, "does not start with NAME=, where NAME is a variable name");
  return { name, valueAt: nameAndEquals.lastIndex };
}

type ParsedValue = { readonly value: string; readonly end: number };

function readValue(text: string, at: number): ParsedValue {
  const first = text[at];
  if (first === "`") throw invalidLine(text, at, "has a value in backticks; use single or double quotes");
  const { value, end } =
    first === "'" || first === '"' ? readQuoted(text, at, first) : readUnquoted(text, at);
  if (value.includes("\0")) throw invalidLine(text, at, "contains a null character");
  if (!value.isWellFormed()) throw invalidLine(text, at, "contains a lone surrogate");
  return { value, end };
}

function readQuoted(text: string, at: number, quoteCharacter: "'" | '"'): ParsedValue {
  const close = quoteCharacter === "'" ? text.indexOf("'", at + 1) : closingDoubleQuote(text, at + 1);
  if (close === -1) throw invalidLine(text, at, "starts a quoted value that is not closed");
  const end = skipCommentAfterQuote(text, close + 1);
  if (end === undefined) throw invalidLine(text, close, "has text after the closing quote");
  const inside = text.slice(at + 1, close);
  return { value: quoteCharacter === "'" ? inside : unescape(inside), end };
}

function closingDoubleQuote(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '"') return at;
    if (text[at] === "\\") at += 1;
  }
  return -1;
}

function skipCommentAfterQuote(text: string, at: number): number | undefined {
  // In sh, a # directly after the quote is part of the value, not a comment.
  return text[at] === "#" ? undefined : skipBlankLine(text, at);
}

function readUnquoted(text: string, at: number): ParsedValue {
  restOfLine.lastIndex = at;
  const line = restOfLine.exec(text)?.[0] ?? "";
  // As in sh, a # starts a comment only at the start of the value or after a blank.
  const comment = /(?:^|[ \t])#/u.exec(line)?.index ?? line.length;
  return { value: trimEnd(line.slice(0, comment)), end: restOfLine.lastIndex + 1 };
}

function trimEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === " " || text[end - 1] === "\t") end -= 1;
  return text.slice(0, end);
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ...['"', "\\", "$", "`"].map((character): [string, string] => [character, character]),
]);

/** A backslash before any other character is literal. */
function unescape(inside: string): string {
  return inside.replaceAll(
    /\\(?<character>[\s\S])/gu,
    (whole, character: string) => escapes.get(character) ?? whole,
  );
}

function exportError(name: string, text: string | undefined, seen: ReadonlySet<string>): string | undefined {
  if (!environmentName.test(name)) return "is not a valid variable name";
  if (seen.has(name))
    return "has the same name as another secret in this export; export one folder at a time";
  if (text === undefined) return "is not text; export it as JSON";
  return text.includes("\0") ? "contains a null character; export it as JSON" : undefined;
}

/**
 * Unquoted where every reader agrees, otherwise in single quotes, which have no escapes. Double quotes are used only when
 * needed; a trailing backslash would escape the closing single quote in docker compose.
 */
function quote(text: string): string {
  if (/^[A-Za-z0-9_.,:/@%+=-]*$/u.test(text)) return text;
  if (!/['\r]|\\$/u.test(text)) return `'${text}'`;
  return `"${text.replaceAll(/[\\"$`]/gu, (character) => `\\${character}`).replaceAll("\r", "\\r")}"`;
}

function invalidLine(text: string, at: number, reason: string): Error {
  const line = text.slice(0, at).split("\n").length;
  return invalidFile([{ field: "content", reason: `line ${line} ${reason}` }]);
}
