import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import { collectUntil, peek } from "../stream-parser/read-text.ts";
import { type ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import { takeCharacter } from "./json-text.ts";

/** Some models write booleans and null as in Python. */
export const pythonConstants: Readonly<Record<string, string>> = {
  True: "true",
  False: "false",
  None: "null",
};

/** Valid JSON unchanged, a Python list or dict converted to JSON, anything else as a JSON string. */
export function toJsonText(text: string): string {
  const bare = text.trim();
  if (bare in pythonConstants) return pythonConstants[bare] ?? bare;
  if (parseBoundedJson(bare) !== undefined) return bare;
  return (/^[[{]/u.test(bare) ? convertPythonValue(bare) : undefined) ?? JSON.stringify(text);
}

function convertPythonValue(text: string): string | undefined {
  const scanner = new Scanner();
  scanner.push({ text });
  scanner.end("stop");
  // All text is present, so the parser never yields.
  const { value } = readPythonValue(scanner).next();
  return typeof value === "string" && scanner.unread === "" ? value : undefined;
}

/** A Python literal as JSON text; undefined if it is not one. */
export function* readPythonValue(scanner: Scanner): ParserSteps<string | undefined> {
  const character = yield* takeCharacter(scanner, "'\"[({");
  if (character === "'" || character === '"') return yield* readText(scanner, character);
  if (character === "[") return yield* readItems(scanner, { close: "]", hasKeys: false });
  if (character === "(") return yield* readItems(scanner, { close: ")", hasKeys: false });
  if (character === "{") return yield* readItems(scanner, { close: "}", hasKeys: true });
  let word = "";
  while (/^[\w.+-]$/u.test(yield* peek(scanner))) word += scanner.take(1).text;
  return word === "" ? undefined : toJsonText(word);
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "0": "\0" };

function* readText(scanner: Scanner, quote: string): ParserSteps<string | undefined> {
  let text = "";
  for (;;) {
    const chunk = yield* collectUntil(scanner, [quote, "\\"]);
    text += chunk.text;
    // A string that never ends is closed, unless the token limit cut it.
    if (chunk.marker === undefined) return scanner.endedBy === "stop" ? JSON.stringify(text) : undefined;
    scanner.take(1);
    if (chunk.marker === quote) return JSON.stringify(text);
    const escaped = yield* peek(scanner);
    scanner.take(escaped.length);
    if (escaped === "x" || escaped === "u") text += yield* readCodePoint(scanner, escaped === "x" ? 2 : 4);
    else text += escapes[escaped] ?? escaped;
  }
}

function* readCodePoint(scanner: Scanner, digits: number): ParserSteps<string> {
  let code = "";
  while (code.length < digits && /^[0-9a-f]$/iu.test(yield* peek(scanner))) code += scanner.take(1).text;
  return code === "" ? "" : String.fromCodePoint(Number.parseInt(code, 16));
}

type Items = { readonly close: string; readonly hasKeys: boolean };

function* readItems(scanner: Scanner, { close, hasKeys }: Items): ParserSteps<string | undefined> {
  const items: string[] = [];
  while ((yield* takeCharacter(scanner, close)) === undefined) {
    if (isCut(scanner)) break;
    if (items.length > 0 && (yield* takeCharacter(scanner, ",")) === undefined) return undefined;
    // A trailing comma is allowed.
    if ((yield* takeCharacter(scanner, close)) !== undefined || isCut(scanner)) break;
    const first = yield* readPythonValue(scanner);
    if (first === undefined) return undefined;
    if (!hasKeys) items.push(first);
    else {
      if ((yield* takeCharacter(scanner, ":")) === undefined) return undefined;
      const value = yield* readPythonValue(scanner);
      if (value === undefined) return undefined;
      items.push(`${first.startsWith('"') ? first : JSON.stringify(first)}: ${value}`);
    }
  }
  return hasKeys ? `{${items.join(", ")}}` : `[${items.join(", ")}]`;
}

/** Whether the model ended its output inside a list, which is then closed. */
function isCut(scanner: Scanner): boolean {
  return scanner.endedBy === "stop" && scanner.unread === "";
}
