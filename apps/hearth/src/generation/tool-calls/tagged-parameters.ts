import { collectUntil, peek, readUntil, skipWhitespace, takeLiteral } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import type { Outcome } from "./json-calls.ts";
import { toJsonText } from "./python-values.ts";

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
};

type ValueKind = "text" | "json" | "by-schema";

type ArgumentContext = { readonly shape: TagShape; readonly writer: CallWriter; readonly name: string };

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
  let written = 0;
  for (;;) {
    const { marker } = yield* collectUntil(scanner, [shape.keyStart, shape.callEnd]);
    if (marker === undefined) return "unfinished";
    scanner.take(marker.length);
    if (marker === shape.callEnd) break;
    writer.write(written === 0 ? "{" : ", ");
    written += 1;
    const outcome = yield* readArgument(scanner, { shape, writer, name });
    if (outcome !== "complete") return outcome;
  }
  writer.write(written === 0 ? "{}" : "}");
  writer.end();
  return "complete";
}

function* readArgument(scanner: Scanner, { shape, writer, name }: ArgumentContext): ParserSteps<Outcome> {
  const key = yield* collectUntil(scanner, Object.keys(shape.keyEnds));
  if (key.marker === undefined) return "unfinished";
  scanner.take(key.marker.length);
  writer.write(`${JSON.stringify(key.text)}: `);
  if (shape.valueStart !== undefined) {
    yield* skipWhitespace(scanner);
    if (!(yield* takeLiteral(scanner, shape.valueStart))) {
      return (yield* peek(scanner)) === "" ? "unfinished" : "other";
    }
  }
  if (shape.hasLineBreaks === true) yield* takeLiteral(scanner, "\n");
  const kind = shape.keyEnds[key.marker] ?? "by-schema";
  const isText =
    kind === "text" || (kind === "by-schema" && writer.argumentType(name, key.text) === "string");
  return yield* isText ? streamText(scanner, shape, writer) : bufferValue(scanner, shape, writer);
}

function* streamText(scanner: Scanner, shape: TagShape, writer: CallWriter): ParserSteps<Outcome> {
  writer.write('"');
  const search = { markers: valueEnds(shape), partialMarkerAtEnd: "drop-if-truncated" } as const;
  const marker = yield* readUntil(scanner, search, ({ text }) =>
    writer.write(JSON.stringify(text).slice(1, -1)),
  );
  if (marker === undefined) return "unfinished";
  scanner.take(marker.length);
  writer.write('"');
  return "complete";
}

function* bufferValue(scanner: Scanner, shape: TagShape, writer: CallWriter): ParserSteps<Outcome> {
  const { text, marker } = yield* collectUntil(scanner, valueEnds(shape));
  if (marker === undefined) return "unfinished";
  scanner.take(marker.length);
  writer.write(toJsonText(text));
  return "complete";
}

function valueEnds({ valueEnd, hasLineBreaks }: TagShape): string[] {
  return hasLineBreaks === true ? [`\n${valueEnd}`, valueEnd] : [valueEnd];
}
