import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import { peek, peekLiteral } from "../stream-parser/read-text.ts";
import { type ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import {
  type ArgumentSchema,
  coerceScalar,
  coerceText,
  itemSchema,
  propertySchema,
  typesOf,
} from "./argument-schema.ts";
import { pythonConstants } from "./python-values.ts";
import { type RepairContext, repairText, takeWhitespace, type ValueEnd } from "./repair-text.ts";

/** A value within the arguments. */
type Position = {
  readonly schema: ArgumentSchema;
  /** The closing brackets of the containers around it. */
  readonly outer: string;
  /** Written before the value, but only if there is one. */
  readonly before: string;
};

/** Deeper values are dropped; the parser of the complete arguments would reject them. */
const maxDepth = 60;

/**
 * Reads a JSON object as models write it and writes valid JSON while it arrives: text that is valid already is passed on
 * verbatim. Removes trailing commas, adds missing ones, quotes bare words, and converts scalars to the type that the
 * schema asks for. At the end of the text it closes everything, unless the token limit ended it. The last brace is
 * not written, so that arguments are valid JSON only once the caller has completed the call.
 * Returns `value` if the object ended with its own brace.
 */
export function* repairObject(context: RepairContext, schema: ArgumentSchema): ParserSteps<ValueEnd> {
  return yield* readContainer(context, { schema, outer: "", before: "" }, "}");
}

/** The first object in a complete text, as valid JSON; undefined if there is none. */
export function repairJson(text: string, schema: ArgumentSchema): string | undefined {
  const start = text.indexOf("{");
  if (start === -1) return undefined;
  const scanner = new Scanner();
  scanner.push({ text: text.slice(start) });
  scanner.end("stop");
  let written = "";
  const write = (chunk: string): void => {
    written += chunk;
  };
  // All text is present, so the parser never yields.
  repairObject({ scanner, write, endMarkers: [] }, schema).next();
  return `${written}}`;
}

function* readContainer(context: RepairContext, position: Position, close: "}" | "]"): ParserSteps<ValueEnd> {
  const { scanner, write } = context;
  write(position.before + scanner.take(1).text);
  let gap = "";
  for (let count = 0; ; ) {
    gap += yield* takeGap(scanner);
    const end = yield* findEnd(context, position.outer, close);
    if (end !== undefined) {
      if (end === "value" && !gap.includes(",")) write(gap);
      return finish(context, position, { close, end });
    }
    const before = separate(gap, count === 0);
    const inner = { ...position, before, outer: position.outer + close };
    const read = yield* close === "}" ? readMember(context, inner) : readItem(context, inner, count);
    if (read === "none") continue;
    if (read !== "value") return finish(context, position, { close, end: read });
    gap = "";
    count += 1;
  }
}

type ContainerEnd = { readonly close: string; readonly end: ValueEnd };

function finish(
  { scanner, write }: RepairContext,
  { outer }: Position,
  { close, end }: ContainerEnd,
): ValueEnd {
  const isCut = end === "cut" && scanner.endedBy === "length";
  if (outer !== "" && !isCut) write(close);
  return end;
}

/** Whitespace and commas. A comma is written with the next value, because there may be none. */
function* takeGap(scanner: Scanner): ParserSteps<string> {
  let taken = "";
  while (/^[\s,]$/u.test(yield* peek(scanner))) {
    taken += scanner.take(/^[\s,]*/u.exec(scanner.unread)?.[0].length ?? 0).text;
  }
  return taken;
}

function separate(gap: string, isFirst: boolean): string {
  const commas = gap.split(",").length - 1;
  if (commas === (isFirst ? 0 : 1)) return gap;
  const spaces = gap.replaceAll(",", "");
  return isFirst ? spaces : `,${spaces}`;
}

/** How the container ends here; undefined if it goes on. A bracket of an outer container ends this one too. */
function* findEnd(context: RepairContext, outer: string, close: string): ParserSteps<ValueEnd | undefined> {
  const { scanner, endMarkers } = context;
  const next = yield* peek(scanner);
  if (next === "") return "cut";
  if (next === close) {
    scanner.take(1);
    return "value";
  }
  if ("]}".includes(next) && outer.includes(next)) return "value";
  return (yield* peekLiteral(scanner, endMarkers)) === undefined ? undefined : "marker";
}

type ReadEnd = ValueEnd | "none";

/** A key without a value at the end of the text is dropped. */
function* readMember(context: RepairContext, position: Position): ParserSteps<ReadEnd> {
  const { scanner } = context;
  const key = yield* readKey(context);
  if (key === undefined) return "none";
  const space = yield* takeWhitespace(scanner);
  const hasColon = (yield* peek(scanner)) === ":";
  if (hasColon) scanner.take(1);
  const before = position.before + key.text + (hasColon ? `${space}:` : ": ");
  const schema = propertySchema(position.schema, key.name);
  const read = yield* readValue(context, { ...position, schema, before });
  if (read !== "none") return read;
  context.write(`${before}null`);
  return "value";
}

function* readItem(context: RepairContext, position: Position, index: number): ParserSteps<ReadEnd> {
  const read = yield* readValue(context, { ...position, schema: itemSchema(position.schema, index) });
  // Not a value, and not the end of the list.
  if (read === "none") context.scanner.take(1);
  return read;
}

type Key = { readonly name: string; readonly text: string };

function* readKey(context: RepairContext): ParserSteps<Key | undefined> {
  const { scanner } = context;
  const next = yield* peek(scanner);
  if (next === '"' || next === "'") {
    let text = "";
    const end = yield* repairText({
      ...context,
      write: (chunk) => {
        text += chunk;
      },
    });
    return end === "value" ? { name: String(parseBoundedJson(text)), text } : undefined;
  }
  let name = "";
  while (/^[\w$.-]$/u.test(yield* peek(scanner))) name += scanner.take(1).text;
  if (name === "") scanner.take(1);
  return name === "" ? undefined : { name, text: JSON.stringify(name) };
}

/** `none` if there is no value here. */
function* readValue(context: RepairContext, position: Position): ParserSteps<ReadEnd> {
  const { scanner, endMarkers } = context;
  const before = position.before + (yield* takeWhitespace(scanner));
  const next = yield* peek(scanner);
  if (next === "") return "cut";
  if (/^[,:}\]]$/u.test(next)) return "none";
  if ((yield* peekLiteral(scanner, endMarkers)) !== undefined) return "marker";
  if (next === '"' || next === "'") return yield* readString(context, { ...position, before });
  const isContainer = next === "{" || next === "[";
  if (isContainer && position.outer.length < maxDepth) {
    return yield* readContainer(context, { ...position, before }, next === "{" ? "}" : "]");
  }
  return yield* readWord(context, { ...position, before });
}

/** A string is written while it arrives, unless the schema asks for another type. */
function* readString(context: RepairContext, { schema, before }: Position): ParserSteps<ValueEnd> {
  const types = typesOf(schema);
  if (types === undefined || types.has("string")) {
    context.write(before);
    return yield* repairText(context);
  }
  let text = "";
  const end = yield* repairText({
    ...context,
    write: (chunk) => {
      text += chunk;
    },
  });
  if (end === "cut" && context.scanner.endedBy === "length") return end;
  context.write(before + (coerceText(String(parseBoundedJson(text)), types) ?? text));
  return end;
}

/** A number, a literal or bare text, up to the next delimiter. */
function* readWord(context: RepairContext, { schema, before }: Position): ParserSteps<ReadEnd> {
  const { scanner, endMarkers, write } = context;
  for (;;) {
    const { unread, endedBy } = scanner;
    const found = unread.search(/[,}\]\r\n]/u);
    const limit = found === -1 ? unread.length : found;
    const markers = endMarkers.map((marker) => unread.indexOf(marker)).filter((at) => at !== -1);
    const length = unread.slice(0, Math.min(limit, ...markers)).trimEnd().length;
    const isComplete = found !== -1 || markers.length > 0;
    if (isComplete || endedBy !== undefined) {
      if (!isComplete && endedBy === "length") return "cut";
      const word = scanner.take(Math.max(1, length)).text.trim();
      write(before + coerceScalar(toJson(word, !isComplete), typesOf(schema)));
      return "value";
    }
    yield;
  }
}

function toJson(word: string, isCut: boolean): string {
  const constant = pythonConstants[word];
  if (constant !== undefined) return constant;
  if (parseBoundedJson(word) !== undefined) return word;
  const literal = ["true", "false", "null"].find((each) => each.startsWith(word));
  const digits = word.replace(/[.eE+-]+$/u, "");
  if (isCut && literal !== undefined) return literal;
  if (isCut && typeof parseBoundedJson(digits) === "number") return digits;
  return JSON.stringify(word);
}
