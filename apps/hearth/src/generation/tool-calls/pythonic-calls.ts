import { collectUntil, peek, skipSpace } from "../splitting/read-text.ts";
import type { Scanner, Steps } from "../splitting/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import { type JsonShape, type Outcome, readJsonCalls } from "./json-calls.ts";
import { takeSign } from "./json-text.ts";
import { readPythonValue } from "./python-values.ts";

/** Reads `[name(key='value', other=2), …]`, or a JSON list where the model was told to write one. */
export function* readPythonicCalls(scanner: Scanner, writer: CallWriter, shape: JsonShape): Steps<Outcome> {
  yield* skipSpace(scanner);
  if ((yield* peek(scanner)) === "{") return yield* readJsonCalls(scanner, { writer, shape });
  const isList = (yield* takeSign(scanner, "[")) !== undefined;
  yield* skipSpace(scanner);
  if (isList && (yield* peek(scanner)) === "{") {
    const outcome = yield* readJsonCalls(scanner, { writer, shape });
    if (outcome === "whole") yield* takeSign(scanner, "]");
    return outcome;
  }
  for (;;) {
    const outcome = yield* readPythonicCall(scanner, writer);
    if (outcome !== "whole" || !isList) return outcome;
    const sign = yield* takeSign(scanner, ",]");
    if (sign === "]") return "whole";
    if (sign === undefined) return stopped(scanner);
    yield* skipSpace(scanner);
  }
}

function* readPythonicCall(scanner: Scanner, writer: CallWriter): Steps<Outcome> {
  const heading = yield* collectUntil(scanner, ["("]);
  if (heading.marker === undefined) return "unfinished";
  scanner.take(1);
  const name = heading.text.trim().replace(/\.call$/u, "");
  if (!/^[\w.-]+$/u.test(name)) return "other";
  writer.start(name, undefined);
  let written = 0;
  while ((yield* takeSign(scanner, ")")) === undefined) {
    if (written > 0 && (yield* takeSign(scanner, ",")) === undefined) return stopped(scanner);
    yield* skipSpace(scanner);
    const key = yield* collectUntil(scanner, ["="]);
    if (key.marker === undefined) return "unfinished";
    scanner.take(1);
    const value = yield* readPythonValue(scanner);
    if (value === undefined) return stopped(scanner);
    writer.write(`${written === 0 ? "{" : ", "}${JSON.stringify(key.text.trim())}: ${value}`);
    written += 1;
  }
  writer.write(written === 0 ? "{}" : "}");
  writer.end();
  return "whole";
}

function stopped(scanner: Scanner): Outcome {
  return scanner.unread === "" && scanner.endedBy !== undefined ? "unfinished" : "other";
}
