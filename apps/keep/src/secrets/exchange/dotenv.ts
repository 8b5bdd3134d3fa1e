import { asText, type FileContent, type FileEntry, keepLast, refuseFile } from "./file-entries.ts";

/**
 * `.env` files, in the grammar of docs/exchange-formats.md: what dotenv, docker compose and sh agree on, read strictly
 * where they do not. Nothing is expanded.
 */
export function readDotenv(content: string): FileContent {
  // As dotenv does: a carriage return that matters is written \r in double quotes.
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

/** Throws with the name of everything that has no place in such a file. */
export function writeDotenv(entries: readonly FileEntry[]): string {
  const seen = new Set<string>();
  const mistakes: { place: string; reason: string }[] = [];
  const lines = entries.map(({ segments, type, bytes }) => {
    const name = segments.at(-1) ?? "";
    const text = type === "text" || type === "json" ? asText(bytes) : undefined;
    const reason = whyNotWritten(name, text, seen);
    if (reason !== undefined) mistakes.push({ place: `/${segments.join("/")}`, reason });
    seen.add(name);
    return `${name}=${quote(text ?? "")}\n`;
  });
  if (mistakes.length > 0) throw refuseFile(mistakes);
  return lines.join("");
}

const blankLine = /[ \t]*(?:#[^\n]*)?(?:\n|$)/uy;
const nameAndSign = /[ \t]*(?:export[ \t]+)?(?<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/uy;
const environmentName = /^[A-Za-z_][A-Za-z0-9_]*$/u;
const restOfLine = /[^\n]*/uy;

function skipBlankLine(text: string, at: number): number | undefined {
  blankLine.lastIndex = at;
  return blankLine.test(text) ? blankLine.lastIndex : undefined;
}

function readName(text: string, at: number): { readonly name: string; readonly valueAt: number } {
  nameAndSign.lastIndex = at;
  const name = nameAndSign.exec(text)?.groups?.["name"];
  if (name === undefined) throw refuseLine(text, at, "begins with no NAME=, where NAME is a variable's name");
  return { name, valueAt: nameAndSign.lastIndex };
}

type Read = { readonly value: string; readonly end: number };

function readValue(text: string, at: number): Read {
  const first = text[at];
  if (first === "`") throw refuseLine(text, at, "has a value in backticks; use single or double quotes");
  const { value, end } =
    first === "'" || first === '"' ? readQuoted(text, at, first) : readUnquoted(text, at);
  if (value.includes("\0")) throw refuseLine(text, at, "holds a null character");
  if (!value.isWellFormed()) throw refuseLine(text, at, "holds half of a character");
  return { value, end };
}

function readQuoted(text: string, at: number, mark: "'" | '"'): Read {
  const close = mark === "'" ? text.indexOf("'", at + 1) : closingDoubleQuote(text, at + 1);
  if (close === -1) throw refuseLine(text, at, "begins a quoted value that does not end");
  const end = skipCommentAfterQuote(text, close + 1);
  if (end === undefined) throw refuseLine(text, close, "has something after the closing quote");
  const inside = text.slice(at + 1, close);
  return { value: mark === "'" ? inside : unescape(inside), end };
}

function closingDoubleQuote(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '"') return at;
    if (text[at] === "\\") at += 1;
  }
  return -1;
}

function skipCommentAfterQuote(text: string, at: number): number | undefined {
  // A comment that touches the quote would be part of the value in sh.
  return text[at] === "#" ? undefined : skipBlankLine(text, at);
}

function readUnquoted(text: string, at: number): Read {
  restOfLine.lastIndex = at;
  const line = restOfLine.exec(text)?.[0] ?? "";
  // A mark in the middle of a word is part of it, as in sh: a comment has a blank before it, or begins the value.
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
  ...['"', "\\", "$", "`"].map((mark): [string, string] => [mark, mark]),
]);

/** A backslash before anything else stands for itself. */
function unescape(inside: string): string {
  return inside.replaceAll(/\\(?<mark>[\s\S])/gu, (whole, mark: string) => escapes.get(mark) ?? whole);
}

function whyNotWritten(
  name: string,
  text: string | undefined,
  seen: ReadonlySet<string>,
): string | undefined {
  if (!environmentName.test(name)) return "is not the name of a variable";
  if (seen.has(name)) return "has the name of another secret of this export; narrow it to one folder";
  if (text === undefined) return "is not text; export it as JSON";
  return text.includes("\0") ? "holds a null character; export it as JSON" : undefined;
}

/**
 * Plain where every reader takes it plainly; single quotes, in which nothing means anything, wherever they can be used.
 * A backslash at the end would hide the closing single quote from docker compose.
 */
function quote(text: string): string {
  if (/^[A-Za-z0-9_.,:/@%+=-]*$/u.test(text)) return text;
  if (!/['\r]|\\$/u.test(text)) return `'${text}'`;
  return `"${text.replaceAll(/[\\"$`]/gu, (mark) => `\\${mark}`).replaceAll("\r", "\\r")}"`;
}

function refuseLine(text: string, at: number, reason: string): Error {
  const line = text.slice(0, at).split("\n").length;
  return refuseFile([{ place: "content", reason: `line ${line} ${reason}` }]);
}
