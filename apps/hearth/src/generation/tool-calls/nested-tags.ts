import { collectUntil, peekLiteral, takeLiteral } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import { type ArgumentSchema, coerceLeaf, itemSchema, propertySchema, typesOf } from "./argument-schema.ts";
import type { CallWriter } from "./call-writer.ts";
import type { Outcome } from "./json-calls.ts";

/** Before every tag, so that text can contain anything that looks like one. */
export const tagPrefix = "]<]minimax[>[";

const invokeEnd = "</invoke>";
/** The parser of the complete arguments accepts no more. */
const maxDepth = 60;

/** An element that was read; `json` is undefined if it was cut before its value. */
type Element = { readonly json: string | undefined; readonly isCut: boolean };

/**
 * Reads `name">` and one element per argument, each named by its tag. Objects have one element per field, lists one
 * `<item>` per value; all other values are text.
 */
export function* readNestedCall(scanner: Scanner, writer: CallWriter): ParserSteps<Outcome> {
  const header = yield* collectUntil(scanner, ['">']);
  if (header.marker === undefined) return "unfinished";
  scanner.take(header.marker.length);
  const name = header.text.trim();
  if (name === "" || /[\s"<>]/u.test(name)) return "other";
  writer.start(name, undefined);
  for (;;) {
    const { marker } = yield* collectUntil(scanner, [tagPrefix]);
    if (marker === undefined) return "unfinished";
    scanner.take(tagPrefix.length);
    if (yield* takeLiteral(scanner, invokeEnd)) break;
    const key = yield* readTagName(scanner);
    if (key === undefined) return scanner.endedBy === undefined ? "other" : "unfinished";
    const { json, isCut } = yield* readElement(scanner, {
      key,
      schema: writer.argumentSchema(key),
      depth: 1,
    });
    if (isCut && scanner.endedBy === "length") return "unfinished";
    if (json !== undefined) {
      writer.startArgument(key);
      writer.writeValue(json);
    }
    if (isCut) return "unfinished";
  }
  writer.end();
  return "complete";
}

/** Reads `<name>` after the prefix; undefined for anything else. */
function* readTagName(scanner: Scanner): ParserSteps<string | undefined> {
  if (!(yield* takeLiteral(scanner, "<"))) return undefined;
  const { text, marker } = yield* collectUntil(scanner, [">"]);
  scanner.take(marker?.length ?? 0);
  return marker === undefined || text === "" ? undefined : text;
}

type ElementPosition = { readonly key: string; readonly schema: ArgumentSchema; readonly depth: number };

/** Reads the content of an element and its closing tag. */
function* readElement(scanner: Scanner, { key, schema, depth }: ElementPosition): ParserSteps<Element> {
  const fields: string[] = [];
  let isList = false;
  let text = "";
  for (let index = 0; ; index += 1) {
    const content = yield* collectUntil(scanner, [tagPrefix]);
    if (index === 0) text = content.text;
    const finish = (isCut: boolean): Element => ({ json: join({ fields, isList, text }, schema), isCut });
    if (content.marker === undefined) return finish(true);
    const isClosed = (yield* peekTag(scanner, `</${key}>`)) || depth >= maxDepth;
    const isEnd = isClosed || (yield* peekTag(scanner, "</"));
    if (isClosed) scanner.take(tagPrefix.length + key.length + 3);
    // A closing tag of an outer element ends this one too.
    if (isEnd) return finish(false);
    scanner.take(tagPrefix.length);
    const name = yield* readTagName(scanner);
    if (name === undefined) return finish(true);
    isList = name === "item" && (index === 0 || isList);
    const inner = isList ? itemSchema(schema, index) : propertySchema(schema, name);
    const element = yield* readElement(scanner, { key: name, schema: inner, depth: depth + 1 });
    if (element.json !== undefined)
      fields.push(isList ? element.json : `${JSON.stringify(name)}: ${element.json}`);
    if (element.isCut) return finish(true);
  }
}

function* peekTag(scanner: Scanner, tag: string): ParserSteps<boolean> {
  return (yield* peekLiteral(scanner, [tagPrefix + tag])) !== undefined;
}

type Content = { readonly fields: readonly string[]; readonly isList: boolean; readonly text: string };

function join({ fields, isList, text }: Content, schema: ArgumentSchema): string {
  if (fields.length > 0) return isList ? `[${fields.join(", ")}]` : `{${fields.join(", ")}}`;
  const types = typesOf(schema);
  if (text.trim() === "" && types?.has("array") === true) return "[]";
  if (text.trim() === "" && types?.has("object") === true) return "{}";
  return coerceLeaf(text, types);
}
