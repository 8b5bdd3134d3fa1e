import { collectUntil, peek, skipWhitespace } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import { coerceJson } from "./argument-schema.ts";
import type { CallWriter } from "./call-writer.ts";
import { type JsonShape, type Outcome, readJsonCalls } from "./json-calls.ts";
import { takeCharacter } from "./json-text.ts";
import { readPythonValue } from "./python-values.ts";

/** Reads `[name(key='value', other=2), …]`, or JSON if the prompt asked the model for that. */
export function* readPythonicCalls(
  scanner: Scanner,
  writer: CallWriter,
  shape: JsonShape,
): ParserSteps<Outcome> {
  yield* skipWhitespace(scanner);
  if ((yield* peek(scanner)) === "{") return yield* readJsonCalls(scanner, { writer, shape });
  const isList = (yield* takeCharacter(scanner, "[")) !== undefined;
  yield* skipWhitespace(scanner);
  if (isList && (yield* peek(scanner)) === "{") {
    const outcome = yield* readJsonCalls(scanner, { writer, shape });
    if (outcome === "complete") yield* takeCharacter(scanner, "]");
    return outcome;
  }
  for (;;) {
    const outcome = yield* readPythonicCall(scanner, writer);
    if (outcome !== "complete" || !isList) return outcome;
    const character = yield* takeCharacter(scanner, ",]");
    if (character === "]") return "complete";
    if (character === undefined) return unexpectedInput(scanner);
    yield* skipWhitespace(scanner);
  }
}

function* readPythonicCall(scanner: Scanner, writer: CallWriter): ParserSteps<Outcome> {
  const header = yield* collectUntil(scanner, ["("]);
  if (header.marker === undefined) return "unfinished";
  scanner.take(1);
  const name = header.text.trim().replace(/\.call$/u, "");
  if (!/^[\w.-]+$/u.test(name)) return "other";
  writer.start(name, undefined);
  let written = 0;
  while ((yield* takeCharacter(scanner, ")")) === undefined) {
    if (written > 0 && (yield* takeCharacter(scanner, ",")) === undefined) return unexpectedInput(scanner);
    // A trailing comma.
    if ((yield* takeCharacter(scanner, ")")) !== undefined) break;
    const key = yield* collectUntil(scanner, ["="]);
    if (key.marker === undefined) return "unfinished";
    scanner.take(1);
    const value = yield* readPythonValue(scanner);
    if (value === undefined) return unexpectedInput(scanner);
    const argument = key.text.trim();
    writer.startArgument(argument);
    writer.writeValue(coerceJson(value, writer.argumentTypes(argument)));
    written += 1;
  }
  writer.end();
  return "complete";
}

function unexpectedInput(scanner: Scanner): Outcome {
  return scanner.unread === "" && scanner.endedBy !== undefined ? "unfinished" : "other";
}
