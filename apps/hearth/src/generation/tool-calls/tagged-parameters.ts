import { collectUntil, peek, readUntil, skipSpace, takeLiteral } from "../splitting/read-text.ts";
import type { Scanner, Steps } from "../splitting/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import type { Outcome } from "./json-calls.ts";
import { toJsonText } from "./python-values.ts";

/** How a family writes a call with one tag for each argument. */
export type TagShape = {
  /** What ends the name; absent when the name ends where the first argument or the end of the call begins. */
  readonly nameEnd?: string;
  readonly keyStart: string;
  /** What may end a key, with what it tells of the value: text, JSON, or whatever the tool's schema says. */
  readonly keyEnds: Readonly<Record<string, ValueKind>>;
  readonly valueStart?: string;
  readonly valueEnd: string;
  /** Whether one line break on either side of a value belongs to the tags. */
  readonly hasLinesAround?: boolean;
  readonly callEnd: string;
};

type ValueKind = "text" | "json" | "by-schema";

type Reading = { readonly shape: TagShape; readonly writer: CallWriter; readonly name: string };

/**
 * Reads a call and writes its arguments as JSON. Arguments of type string are written while they come; others are
 * awaited, because only the whole value tells whether it is JSON or bare text.
 */
export function* readTaggedCall(scanner: Scanner, shape: TagShape, writer: CallWriter): Steps<Outcome> {
  const nameEnds = shape.nameEnd === undefined ? [shape.keyStart, shape.callEnd] : [shape.nameEnd];
  const heading = yield* collectUntil(scanner, nameEnds);
  if (heading.marker === undefined) return "unfinished";
  scanner.take(shape.nameEnd?.length ?? 0);
  // Behind the name some families write further attributes.
  const name = /^[^\s"<>]+/u.exec(heading.text.trim())?.[0];
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
    if (outcome !== "whole") return outcome;
  }
  writer.write(written === 0 ? "{}" : "}");
  writer.end();
  return "whole";
}

function* readArgument(scanner: Scanner, { shape, writer, name }: Reading): Steps<Outcome> {
  const key = yield* collectUntil(scanner, Object.keys(shape.keyEnds));
  if (key.marker === undefined) return "unfinished";
  scanner.take(key.marker.length);
  writer.write(`${JSON.stringify(key.text)}: `);
  if (shape.valueStart !== undefined) {
    yield* skipSpace(scanner);
    if (!(yield* takeLiteral(scanner, shape.valueStart))) {
      return (yield* peek(scanner)) === "" ? "unfinished" : "other";
    }
  }
  if (shape.hasLinesAround === true) yield* takeLiteral(scanner, "\n");
  const kind = shape.keyEnds[key.marker] ?? "by-schema";
  const isText = kind === "text" || (kind === "by-schema" && writer.typeOf(name, key.text) === "string");
  return yield* isText ? streamText(scanner, shape, writer) : awaitValue(scanner, shape, writer);
}

function* streamText(scanner: Scanner, shape: TagShape, writer: CallWriter): Steps<Outcome> {
  writer.write('"');
  const plan = { markers: valueEnds(shape), heldAtEnd: "drop-when-cut" } as const;
  const marker = yield* readUntil(scanner, plan, ({ text }) =>
    writer.write(JSON.stringify(text).slice(1, -1)),
  );
  if (marker === undefined) return "unfinished";
  scanner.take(marker.length);
  writer.write('"');
  return "whole";
}

function* awaitValue(scanner: Scanner, shape: TagShape, writer: CallWriter): Steps<Outcome> {
  const { text, marker } = yield* collectUntil(scanner, valueEnds(shape));
  if (marker === undefined) return "unfinished";
  scanner.take(marker.length);
  writer.write(toJsonText(text));
  return "whole";
}

function valueEnds({ valueEnd, hasLinesAround }: TagShape): string[] {
  return hasLinesAround === true ? [`\n${valueEnd}`, valueEnd] : [valueEnd];
}
