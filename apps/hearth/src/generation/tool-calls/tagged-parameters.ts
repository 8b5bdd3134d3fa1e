import { collectUntil, peek, readUntil, skipWhitespace, takeLiteral } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import { coerceLeaf, isTextOnly } from "./argument-schema.ts";
import type { CallWriter } from "./call-writer.ts";
import type { Outcome } from "./json-calls.ts";
import { findFinalMarker } from "./repair-text.ts";

/** The form of a call with one tag per argument. */
export type TagShape = {
  /** Marker after the name; absent if the name ends at the first argument or at the end of the call. */
  readonly nameEnd?: string;
  readonly keyStart: string;
  /** Markers that end a key, with the kind of value that follows: text, JSON, or decided by the tool's schema. */
  readonly keyEnds: Readonly<Record<string, ValueKind>>;
  readonly valueStart?: string;
  readonly valueEnd: string;
  /** Whether one line break before and after a value belongs to the tags. */
  readonly hasLineBreaks?: boolean;
  readonly callEnd: string;
  /** Whether a value may be between `<![CDATA[` and `]]>`, so that it can contain tags. */
  readonly hasCharacterData?: boolean;
  /** Marker before all arguments as one JSON object. */
  readonly objectStart?: string;
};

type ValueKind = "text" | "json" | "by-schema";

type ArgumentContext = { readonly shape: TagShape; readonly writer: CallWriter };

/**
 * Reads a call and writes its arguments as JSON. String arguments are streamed; others are buffered, because only the
 * complete value shows whether it is JSON or bare text.
 */
export function* readTaggedCall(scanner: Scanner, shape: TagShape, writer: CallWriter): ParserSteps<Outcome> {
  const nameEnds = shape.nameEnd === undefined ? [shape.keyStart, shape.callEnd] : [shape.nameEnd];
  const header = yield* collectUntil(scanner, nameEnds);
  if (header.marker === undefined) return "unfinished";
  scanner.take(shape.nameEnd?.length ?? 0);
  // Some models write further attributes after the name.
  const name = /^[^\s"<>]+/u.exec(header.text.trim())?.[0];
  if (name === undefined) return "other";
  writer.start(name, undefined);
  const objectStart = shape.objectStart === undefined ? [] : [shape.objectStart];
  for (;;) {
    const { marker } = yield* collectUntil(scanner, [shape.keyStart, shape.callEnd, ...objectStart]);
    if (marker === undefined) return "unfinished";
    scanner.take(marker.length);
    if (marker === shape.callEnd) break;
    if (objectStart.includes(marker)) {
      yield* skipWhitespace(scanner);
      if ((yield* peek(scanner)) === "{" && !(yield* writer.readArguments(scanner, false)))
        return "unfinished";
      continue;
    }
    const outcome = yield* readArgument(scanner, { shape, writer });
    if (outcome !== "complete") return outcome;
  }
  writer.end();
  return "complete";
}

function* readArgument(scanner: Scanner, { shape, writer }: ArgumentContext): ParserSteps<Outcome> {
  const key = yield* collectUntil(scanner, Object.keys(shape.keyEnds));
  if (key.marker === undefined) return "unfinished";
  scanner.take(key.marker.length);
  if (shape.valueStart !== undefined) {
    yield* skipWhitespace(scanner);
    if (!(yield* takeLiteral(scanner, shape.valueStart))) {
      return (yield* peek(scanner)) === "" ? "unfinished" : "other";
    }
  }
  if (shape.hasLineBreaks === true) yield* takeLiteral(scanner, "\n");
  const kind = shape.keyEnds[key.marker] ?? "by-schema";
  const types = writer.argumentTypes(key.text);
  const isCharacterData = shape.hasCharacterData === true && (yield* takeLiteral(scanner, "<![CDATA["));
  const ended = isCharacterData ? { ...shape, valueEnd: `]]>${shape.valueEnd}` } : shape;
  const isText =
    kind === "text" ||
    (kind === "by-schema" && (isTextOnly(types) || (isCharacterData && types === undefined)));
  writer.startArgument(key.text);
  return yield* isText
    ? streamText(scanner, { shape: ended, writer })
    : bufferValue(scanner, { shape: ended, writer }, kind === "by-schema" ? types : undefined);
}

function* streamText(scanner: Scanner, { shape, writer }: ArgumentContext): ParserSteps<Outcome> {
  let opening = '"';
  const isClosed = yield* readUntilEnd(scanner, { shape, writer }, (text) => {
    writer.writeValue(opening + JSON.stringify(text).slice(1, -1));
    opening = "";
  });
  if (!isClosed && scanner.endedBy === "length") return "unfinished";
  writer.writeValue(`${opening}"`);
  return isClosed ? "complete" : "unfinished";
}

function* bufferValue(
  scanner: Scanner,
  { shape, writer }: ArgumentContext,
  types: ReadonlySet<string> | undefined,
): ParserSteps<Outcome> {
  let text = "";
  const isClosed = yield* readUntilEnd(scanner, { shape, writer }, (chunk) => {
    text += chunk;
  });
  if (!isClosed && scanner.endedBy === "length") return "unfinished";
  writer.writeValue(coerceLeaf(text, types));
  return isClosed ? "complete" : "unfinished";
}

/**
 * Reads a value up to its closing tag; false if the text ends first. If the closing tag is missing, the value ends where
 * the call ends, provided that nothing else follows: a value may mention the tag.
 */
function* readUntilEnd(
  scanner: Scanner,
  { shape, writer }: ArgumentContext,
  onText: (text: string) => void,
): ParserSteps<boolean> {
  const { valueEnd, callEnd, hasLineBreaks } = shape;
  const own = hasLineBreaks === true ? [`\n${valueEnd}`, valueEnd] : [valueEnd];
  const final = hasLineBreaks === true ? [`\n${callEnd}`, callEnd] : [callEnd];
  const search = { markers: [...own, ...final], partialMarkerAtEnd: "drop-if-truncated" } as const;
  const endMarkers = [...final, ...writer.endMarkers];
  for (;;) {
    const marker = yield* readUntil(scanner, search, ({ text }) => onText(text));
    if (marker === undefined) return false;
    if (own.includes(marker)) {
      scanner.take(marker.length);
      return true;
    }
    let decision = findFinalMarker({ scanner, endMarkers }, 0);
    while (decision === "wait") {
      yield;
      decision = findFinalMarker({ scanner, endMarkers }, 0);
    }
    if (decision === "final") return true;
    onText(scanner.take(marker.length).text);
  }
}
