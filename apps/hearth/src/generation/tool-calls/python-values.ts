import { collectUntil, peek } from "../splitting/read-text.ts";
import { Scanner, type Steps } from "../splitting/scanner.ts";
import { parseJson } from "./call-writer.ts";
import { takeSign } from "./json-text.ts";

/** Models print booleans and nothing also as Python does. */
const pythonWords: Readonly<Record<string, string>> = { True: "true", False: "false", None: "null" };

/** JSON as it was written, a Python list or object as JSON, anything else as a JSON string. */
export function toJsonText(text: string): string {
  const bare = text.trim();
  if (bare in pythonWords) return pythonWords[bare] ?? bare;
  if (parseJson(bare) !== undefined) return bare;
  return (/^[[{]/u.test(bare) ? readWhole(bare) : undefined) ?? JSON.stringify(text);
}

function readWhole(text: string): string | undefined {
  const scanner = new Scanner();
  scanner.push({ text });
  scanner.end("stop");
  // With all text there, nothing is waited for.
  const { value } = readPythonValue(scanner).next();
  return typeof value === "string" && scanner.unread === "" ? value : undefined;
}

/** A Python literal as JSON text; undefined for what is none. */
export function* readPythonValue(scanner: Scanner): Steps<string | undefined> {
  const sign = yield* takeSign(scanner, "'\"[({");
  if (sign === "'" || sign === '"') return yield* readText(scanner, sign);
  if (sign === "[") return yield* readItems(scanner, { close: "]", hasKeys: false });
  if (sign === "(") return yield* readItems(scanner, { close: ")", hasKeys: false });
  if (sign === "{") return yield* readItems(scanner, { close: "}", hasKeys: true });
  let word = "";
  while (/^[\w.+-]$/u.test(yield* peek(scanner))) word += scanner.take(1).text;
  return word === "" ? undefined : toJsonText(word);
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "0": "\0" };

function* readText(scanner: Scanner, quote: string): Steps<string | undefined> {
  let text = "";
  for (;;) {
    const part = yield* collectUntil(scanner, [quote, "\\"]);
    if (part.marker === undefined) return undefined;
    text += part.text;
    scanner.take(1);
    if (part.marker === quote) return JSON.stringify(text);
    const escaped = yield* peek(scanner);
    scanner.take(escaped.length);
    if (escaped === "x" || escaped === "u") text += yield* readCodePoint(scanner, escaped === "x" ? 2 : 4);
    else text += escapes[escaped] ?? escaped;
  }
}

function* readCodePoint(scanner: Scanner, digits: number): Steps<string> {
  let code = "";
  while (code.length < digits && /^[0-9a-f]$/iu.test(yield* peek(scanner))) code += scanner.take(1).text;
  return code === "" ? "" : String.fromCodePoint(Number.parseInt(code, 16));
}

type Items = { readonly close: string; readonly hasKeys: boolean };

function* readItems(scanner: Scanner, { close, hasKeys }: Items): Steps<string | undefined> {
  const items: string[] = [];
  while ((yield* takeSign(scanner, close)) === undefined) {
    if (items.length > 0 && (yield* takeSign(scanner, ",")) === undefined) return undefined;
    // A trailing comma is allowed.
    if ((yield* takeSign(scanner, close)) !== undefined) break;
    const first = yield* readPythonValue(scanner);
    if (first === undefined) return undefined;
    if (!hasKeys) items.push(first);
    else {
      if ((yield* takeSign(scanner, ":")) === undefined) return undefined;
      const value = yield* readPythonValue(scanner);
      if (value === undefined) return undefined;
      items.push(`${first.startsWith('"') ? first : JSON.stringify(first)}: ${value}`);
    }
  }
  return hasKeys ? `{${items.join(", ")}}` : `[${items.join(", ")}]`;
}
