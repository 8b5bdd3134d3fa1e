import { collectUntil, peek, peekLiteral, takeLiteral } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";
import { coerceJson } from "./argument-schema.ts";
import type { CallWriter } from "./call-writer.ts";
import type { Outcome } from "./json-calls.ts";
import { takeCharacter } from "./json-text.ts";
import { toJsonText } from "./python-values.ts";

const quote = '<|"|>';

/** Reads `name{key:value,…}`, with bare keys and strings between special quote tokens. */
export function* readGemmaCall(scanner: Scanner, writer: CallWriter): ParserSteps<Outcome> {
  const header = yield* collectUntil(scanner, ["{"]);
  if (header.marker === undefined) return "unfinished";
  const name = header.text.trim();
  if (!/^[\w.-]+$/u.test(name)) return "other";
  writer.start(name, undefined);
  scanner.take(1);
  while ((yield* takeCharacter(scanner, "}")) === undefined) {
    const key = yield* readKey(scanner);
    const value = key === undefined ? undefined : yield* readValue(scanner);
    if (key === undefined || value === undefined)
      return scanner.endedBy !== undefined && scanner.unread === "" ? "unfinished" : "other";
    writer.startArgument(key);
    writer.writeValue(coerceJson(value, writer.argumentTypes(key)));
    yield* takeCharacter(scanner, ",");
  }
  writer.end();
  return "complete";
}

/** A value as JSON text; undefined if there is none. */
function* readValue(scanner: Scanner): ParserSteps<string | undefined> {
  if ((yield* peekLiteral(scanner, [quote])) !== undefined) return yield* readText(scanner);
  const character = yield* takeCharacter(scanner, "{[");
  if (character === "{") return yield* readItems(scanner, { close: "}", hasKeys: true });
  if (character === "[") return yield* readItems(scanner, { close: "]", hasKeys: false });
  const { text, marker } = yield* collectUntil(scanner, [",", "}", "]"]);
  // Gemma's template renders null as nothing.
  const isComplete = marker !== undefined || (scanner.endedBy === "stop" && text.trim() !== "");
  return isComplete ? toJsonText(text.trim() === "" ? "null" : text) : undefined;
}

function* readText(scanner: Scanner): ParserSteps<string | undefined> {
  scanner.take(quote.length);
  const { text, marker } = yield* collectUntil(scanner, [quote]);
  scanner.take(marker?.length ?? 0);
  // A string that never ends is closed, unless the token limit cut it.
  return marker === undefined && scanner.endedBy !== "stop" ? undefined : JSON.stringify(text);
}

type Items = { readonly close: string; readonly hasKeys: boolean };

function* readItems(scanner: Scanner, { close, hasKeys }: Items): ParserSteps<string | undefined> {
  const items: string[] = [];
  if (yield* takeLiteral(scanner, close)) return hasKeys ? "{}" : "[]";
  for (;;) {
    const key = hasKeys ? yield* readKey(scanner) : "";
    if (key === undefined) return undefined;
    const value = yield* readValue(scanner);
    if (value === undefined) return undefined;
    items.push(hasKeys ? `${JSON.stringify(key)}: ${value}` : value);
    const character = yield* takeCharacter(scanner, `,${close}`);
    const isCut = character === undefined && scanner.endedBy === "stop" && scanner.unread === "";
    if (character === undefined && !isCut) return undefined;
    if (character === close || isCut) return hasKeys ? `{${items.join(", ")}}` : `[${items.join(", ")}]`;
    yield* peek(scanner);
  }
}

function* readKey(scanner: Scanner): ParserSteps<string | undefined> {
  const { text, marker } = yield* collectUntil(scanner, [":"]);
  scanner.take(marker?.length ?? 0);
  if (marker === undefined) return undefined;
  return text.trim().replaceAll(quote, "");
}
